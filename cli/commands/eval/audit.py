"""`pgblend eval audit`: how many of the nearest passages the vector index finds."""

import json
from typing import Any

import click

from pgblend.cli import output
from pgblend.cli.database import fetch_rows, open_database
from pgblend.cli.errors import UserError
from pgblend.cli.evaluate import options
from pgblend.cli.parameters import JsonObject, merge_pairs, pairs_option

_AUDIT = """
    SELECT * FROM blend.audit_recall(
        %(collections)s::text[], %(sample)s, %(limit)s, %(filters)s::jsonb[], %(options)s::jsonb)
"""
_AUDIT_COLUMNS = (
    "filter",
    "selectivity",
    "queries",
    "recall",
    "worst_recall",
    "short_pages",
    "index_ms",
    "exact_ms",
)


@click.command("audit")
@click.option("-c", "--collection", multiple=True, metavar="NAME", help="Only this collection.")
@click.option(
    "--sample",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    help="Query vectors to try.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Passages to ask for.",
)
@click.option(
    "--filter",
    "filters",
    type=JsonObject(),
    multiple=True,
    help="Search with this filter (repeatable). Default: none, and conditions on the documents' "
    "metadata that pass about 10, 1 and 0.1 percent.",
)
@pairs_option("--option", "A search option.")
@output.output_options("json", "csv", "md")
@click.pass_obj
def command(
    database_url: str | None,
    collection: tuple[str, ...],
    sample: int,
    limit: int,
    filters: tuple[dict[str, Any], ...],
    option: tuple[tuple[str, Any], ...],
    output_format: str,
) -> None:
    """Check how many of the nearest passages the vector index finds.

    \b
    Examples:
      pgblend eval audit --json
    """
    parameters = {
        "collections": list(collection) or None,
        "sample": sample,
        "limit": limit,
        "filters": [json.dumps(each) for each in filters] or None,
        "options": json.dumps(merge_pairs(option)),
    }
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _AUDIT, parameters)
    if not rows:
        raise UserError(
            "no passage has a vector", hint="pgblend ingest with a model gateway makes them"
        )
    output.echo_list("audits", options.rounded(rows, output_format), _AUDIT_COLUMNS, output_format)
