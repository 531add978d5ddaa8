"""`pgblend eval list`: judged sets, and the runs on them."""

import click

from pgblend.cli import output
from pgblend.cli.database import fetch_rows, open_database
from pgblend.cli.evaluate import options

_SET_COLUMNS = ("name", "collection", "judged_queries", "judgements", "embedding_model")
_RUN_COLUMNS = (
    "run_id",
    "judged_set",
    "collection",
    "arm",
    "profile",
    "state",
    "queries",
    "degraded_queries",
    "ndcg_10",
    "recall_100",
    "latency_p50_ms",
    "started_at",
)
_SETS = "SELECT * FROM blend.judged_sets ORDER BY name, collection"
_RUNS = """
    SELECT * FROM blend.evaluation_runs
    WHERE judged_set = coalesce(%(set)s, judged_set)
        AND coalesce(collection, '') = coalesce(%(collection)s, collection, '')
    ORDER BY run_id
"""


@click.command("list")
@click.option("--set", "judged_set", metavar="NAME", help="The runs of this judged set.")
@click.option("-c", "--collection", metavar="NAME", help="The runs of this collection's sets.")
@click.option("--runs", is_flag=True, help="The runs of all sets.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def command(
    database_url: str | None,
    judged_set: str | None,
    collection: str | None,
    runs: bool,
    output_format: str,
) -> None:
    """List judged sets, or the runs on them.

    \b
    Examples:
      pgblend eval list --runs
    """
    wants_runs = runs or judged_set is not None or collection is not None
    with open_database(database_url) as connection:
        if wants_runs:
            rows = fetch_rows(connection, _RUNS, {"set": judged_set, "collection": collection})
        else:
            rows = fetch_rows(connection, _SETS)
    if wants_runs:
        output.echo_list("runs", options.rounded(rows, output_format), _RUN_COLUMNS, output_format)
    else:
        output.echo_list("sets", rows, _SET_COLUMNS, output_format)
