"""`pgblend eval tune`: fusion settings chosen on judged queries."""

import json

import click

from pgblend.cli import output
from pgblend.cli.database import open_database
from pgblend.cli.evaluate import options
from pgblend.cli.extras import require

_COMPARED_COLUMNS = (
    "metric",
    "mean_a",
    "mean_b",
    "difference",
    "low",
    "high",
    "p_value",
    "wins",
    "losses",
    "ties",
)


@click.command("tune")
@click.option(
    "--set",
    "judged_set",
    metavar="NAME",
    help="Judged set; `pgblend eval list` names those there are.",
)
@options.collection
@click.option(
    "--feedback",
    metavar="COLLECTION",
    help="In place of --set: what people opened and judged in a collection (`eval learn`).",
)
@click.option("--profile", metavar="NAME", help="Profile to start from. Default: the default one.")
@click.option(
    "--trials",
    type=click.IntRange(1, 100000),
    default=150,
    show_default=True,
    help="Settings to try.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="Share of the queries to tune on; the others are held back.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Which queries, which trials.")
@click.option("--save", metavar="NAME", help="Save the settings as this profile.")
@output.output_options("json")
@click.pass_obj
def command(
    database_url: str | None,
    judged_set: str | None,
    collection: str | None,
    feedback: str | None,
    profile: str | None,
    trials: int,
    share: float,
    seed: int,
    save: str | None,
    output_format: str,
) -> None:
    """Choose fusion settings on one part of a judged set, and measure them on the other.

    What is reported comes from queries that no trial has seen: the mean nDCG@10 before (a) and
    after (b), the difference with 95 % confidence, and the same against each arm alone. Trials
    fuse what words and vectors find; the fuzzy arm, which has its say where a word is misspelt,
    takes part in what is reported and has no weight of its own to tune. With --feedback documents
    without a verdict are left out of what is measured, which is fused from what words and vectors
    find; an experiment then says whether people like it.

    \b
    Examples:
      pgblend eval tune --set mine --trials 100 --save tuned
      pgblend eval tune --feedback docs --save keen
    """
    if (judged_set is None) == (feedback is None):
        raise click.UsageError("one of --set and --feedback is needed")
    if feedback is not None and collection is not None:
        raise click.UsageError("--collection goes with --set: --feedback names one itself")
    require("eval")
    from pgblend.cli.evaluate.tune import TuneRequest
    from pgblend.cli.evaluate.tune import tune as tune_settings
    from pgblend.cli.ingest.progress import progress_bars
    from pgblend.cli.learn.collection import learn

    with open_database(database_url) as connection, progress_bars() as start_bar:
        name = judged_set or learn(connection, feedback or "").set
        learned, of = feedback is not None, feedback or collection
        request = TuneRequest(name, profile, trials, share, seed, save, learned, of)
        result = tune_settings(connection, request, start_bar)
    if output_format == "json":
        output.echo_json(result)
        return
    held_back = result["held_back"]
    rows = [{"tuned against": name} | held_back[name] for name in ("start", "lexical", "vector")]
    columns = ("tuned against", *_COMPARED_COLUMNS[1:])
    output.echo_rows(options.rounded(rows, output_format), columns, output_format)
    click.echo(json.dumps(result["settings"], ensure_ascii=False))
