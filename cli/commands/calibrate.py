"""`pgblend calibrate`: relevance as a probability."""

from dataclasses import replace
from functools import partial

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import require
from pgblend.cli.measure import eval_options as options

_COLUMNS = ("collection", "basis", "queries", "held_back", "error", "low", "high", "attainable")
_BINS = ("collection", "predicted", "observed", "rows")


@click.command()
@click.option(
    "-c", "--collection", multiple=True, metavar="NAME", help="Only this collection (repeatable)."
)
@click.option("--feedback", is_flag=True, help="Learn of what people opened first (`eval learn`).")
@click.option("--reliability", is_flag=True, help="Show what was predicted beside what was so.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def command(
    database_url: str | None,
    collection: tuple[str, ...],
    feedback: bool,
    reliability: bool,
    output_format: str,
) -> None:
    """Make relevance a probability, by judged queries.

    Half of a collection's judged queries fit a curve; on the others error is measured (the expected
    calibration error, low to high with 95 % confidence), and where a list of some coverage ends.
    attainable is the largest coverage. A collection with too few judged queries goes by the
    model's own curve (prior), or by cosines of random passages (p_value). With --feedback what was
    opened counts as well, until it is fitted without; relevance then is the chance that a row is
    among those.

    \b
    Examples:
      pgblend calibrate
      pgblend calibrate -c docs --reliability
      pgblend calibrate -c docs --feedback
    """
    require("eval")
    from pgblend.cli.documents.progress import progress_bars
    from pgblend.cli.measure.calibration import as_json, calibrate, targets
    from pgblend.cli.measure.learn import learn

    found = []
    with open_database(database_url) as connection, progress_bars() as start_bar:
        names = list(collection) or None
        if feedback:
            for target in targets(connection, names):
                try:
                    learn(connection, target.collection)
                except UserError as error:  # nothing to learn of
                    click.echo(f"pgblend: {error.message}", err=True)
        for found_target in targets(connection, names):
            target = replace(found_target, feedback=feedback)
            result = calibrate(connection, target, partial(start_bar, target.collection))
            if result is None:
                click.echo(f"pgblend: {target.collection}: too few vectors", err=True)
                continue
            if result.missing:
                told = f"no curve: {result.missing}"
                click.echo(f"pgblend: {target.collection}: {told}", err=True)
            found.append(as_json(result))
    if output_format == "json":
        output.echo_json({"calibrations": found})
    elif reliability:
        bins = [
            {"collection": one["collection"], **each}
            for one in found
            for each in one["reliability"]
        ]
        output.echo_rows(options.rounded(bins, output_format), _BINS, output_format)
    else:
        output.echo_rows(options.rounded(found, output_format), _COLUMNS, output_format)
