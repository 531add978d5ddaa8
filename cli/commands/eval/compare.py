"""`pgblend eval compare`: two runs of one judged set."""

import click

from pgblend.cli import output
from pgblend.cli.database import open_database
from pgblend.cli.evaluate import options
from pgblend.cli.evaluate.metric_names import RELEVANCE
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
_QUERY_COLUMNS = ("query_key", "query", "a", "b", "difference", "explain")


@click.command("compare")
@click.argument("run_a", metavar="A", type=int)
@click.argument("run_b", metavar="B", type=int)
@click.option(
    "--metric",
    type=click.Choice(RELEVANCE),
    default="nDCG@10",
    show_default=True,
    help="Metric of the queries that are shown.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Queries with the largest differences to show.",
)
@output.output_options("json")
@click.pass_obj
def command(
    database_url: str | None, run_a: int, run_b: int, metric: str, limit: int, output_format: str
) -> None:
    """Compare two runs of one judged set: is B better than A, or is it chance?

    p is two-sided, by a paired randomisation test; the interval holds the difference with 95 %
    confidence. Where one of them reranks, it says whether that gains.

    \b
    Examples:
      pgblend eval compare 1 2 --metric R@100
    """
    require("eval")
    from pgblend.cli.evaluate.compare import compare as compare_runs
    from pgblend.cli.evaluate.reranking import told_verdict

    with open_database(database_url) as connection:
        result = compare_runs(connection, run_a, run_b, metric)
    for warning in result["warnings"]:
        click.echo(f"pgblend: warning: {warning}", err=True)
    if output_format == "json":
        output.echo_json(result)
        return
    rows = [{"metric": name} | values for name, values in result["metrics"].items()]
    output.echo_rows(options.rounded(rows, output_format), _COMPARED_COLUMNS, output_format)
    if result["reranking"]:
        click.echo(told_verdict(result["reranking"]))
    click.echo()
    queries = [query for query in result["queries"][:limit] if query["difference"]]
    output.echo_rows(options.rounded(queries, output_format), _QUERY_COLUMNS, output_format)
