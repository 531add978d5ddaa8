"""`pgblend eval show`: one run."""

import click

from pgblend.cli import output
from pgblend.cli.database import fetch_rows, open_database
from pgblend.cli.errors import ExitCode, UserError
from pgblend.cli.evaluate import options

_RUN = "SELECT * FROM blend.evaluation_runs WHERE run_id = %(run)s"
_QUERIES = """
    SELECT query_key, query, ndcg_10, latency_ms, source_keys[:3] AS first_documents, metrics,
        degraded
    FROM blend.evaluation_queries WHERE run_id = %(run)s ORDER BY ndcg_10, query_key
    LIMIT %(limit)s
"""


@click.command("show")
@click.argument("run_id", type=int)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Worst queries to show.",
)
@output.output_options("json")
@click.pass_obj
def command(database_url: str | None, run_id: int, limit: int, output_format: str) -> None:
    """Show a run: its metrics, what it searched with, and its worst queries.

    \b
    Examples:
      pgblend eval show 2
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _RUN, {"run": run_id})
        queries = fetch_rows(connection, _QUERIES, {"run": run_id, "limit": limit})
    if not rows:
        raise UserError(
            f"there is no run {run_id} that you may read",
            hint="pgblend eval list --runs shows those there are",
            exit_code=ExitCode.ERROR,
        )
    if output_format == "json":
        output.echo_json(rows[0] | {"worst_queries": queries})
        return
    options.echo_runs([rows[0] | {"set": rows[0]["judged_set"]}], output_format)
    click.echo()
    output.echo_rows(
        options.rounded(queries, output_format),
        ("query_key", "query", "ndcg_10", "first_documents"),
        output_format,
    )
