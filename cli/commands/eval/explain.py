"""`pgblend eval explain`: how a run's search ranks one of its queries."""

from pathlib import Path

import click

from pgblend.cli import output
from pgblend.cli.database import collect_warnings, open_database
from pgblend.cli.search import Presentation, show_search


@click.command("explain")
@click.argument("run_id", metavar="RUN", type=int)
@click.argument("query_key", metavar="QUERY")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Most results to show.",
)
@click.option(
    "--explain-html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a page that shows it: the pipeline, and how each result moved.",
)
@output.output_options("json")
@click.pass_obj
def command(
    database_url: str | None,
    run_id: int,
    query_key: str,
    limit: int,
    explain_html: Path | None,
    output_format: str,
) -> None:
    """Search a judged query as a run did, and say how the search came to its results.

    QUERY is the query's key in its judged set. Profile, options and vector are the run's;
    settings are those of now.

    \b
    Examples:
      pgblend eval explain 2 q7 --explain-html page.html
    """
    from pgblend.cli.evaluate.explain import explain_query

    with open_database(database_url) as connection:
        warnings = collect_warnings(connection)
        rows, degraded = explain_query(connection, run_id, query_key, limit)
    presentation = Presentation(output_format, explain=True, explain_html=explain_html)
    show_search(presentation, rows[0]["judged_query"], rows, degraded, warnings)
