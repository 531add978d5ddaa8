"""`pgblend eval run`: all queries of a judged set, searched."""

import json
from functools import partial
from typing import Any

import click

from pgblend.cli import output
from pgblend.cli.database import open_database
from pgblend.cli.evaluate import options
from pgblend.cli.extras import require
from pgblend.cli.parameters import merge_pairs, pairs_option


@click.command("run")
@options.judged_set
@options.collection
@click.option(
    "--profile", multiple=True, metavar="NAME", help="Search by this profile (repeatable)."
)
@click.option(
    "--arm",
    multiple=True,
    type=click.Choice(options.ARMS),
    help="Search by this arm alone (repeatable), beside the profiles that are named.",
)
@pairs_option("--option", "A search option for all of them (repeatable), such as rrf_k=20.")
@options.limit
@output.output_options("json", "csv", "md")
@click.pass_obj
def command(
    database_url: str | None,
    judged_set: str,
    collection: str | None,
    profile: tuple[str, ...],
    arm: tuple[str, ...],
    option: tuple[tuple[str, Any], ...],
    limit: int,
    output_format: str,
) -> None:
    """Search all queries of a judged set, by profiles and arms side by side.

    Without --profile and --arm it is the default profile. An interrupted run continues where it
    was. With --json each run is one object on a line of its own.

    \b
    Examples:
      pgblend eval run --set mine --profile balanced --arm lexical --arm vector
    """
    require("eval")
    from pgblend.cli.evaluate.run import RunRequest, evaluate
    from pgblend.cli.ingest.progress import progress_bars

    ways: list[tuple[str, str | None]] = [("hybrid", each) for each in dict.fromkeys(profile)]
    ways += [(each, None) for each in dict.fromkeys(arm)]
    given = merge_pairs(option)
    rows = []
    with open_database(database_url) as connection, progress_bars() as start_bar:
        for each, name in ways or [("hybrid", None)]:
            label = f"{judged_set} {name or each}"
            result = evaluate(
                connection,
                RunRequest(judged_set, each, name, given, limit, collection),
                partial(start_bar, label),
            )
            rows.append(result)
            if output_format == "json":
                click.echo(json.dumps(result, ensure_ascii=False))
            options.warn_of_degraded(label, result)
    if output_format != "json":
        options.echo_runs(rows, output_format)
