"""`pgblend facets`: how many of a search's candidates have each value of some keys."""

import json
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import collect_warnings, fetch_search, open_database
from pgblend.cli.base.parameters import merge_pairs, pairs_option
from pgblend.cli.search.search_commands import SearchRequest, search_options
from pgblend.cli.search.statements import FACETS, wait_for_changes

_COLUMNS = ("key", "value", "count", "document_count", "count_estimate")


@click.command()
@search_options
@output.output_options("json", "csv", "md")
@click.option(
    "-k",
    "--key",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Count this key's values (repeatable): of metadata, such as author or a.b, or "
    "$collection, $language, $kind, $media_type, $date, $uri, $source_key, $title.",
)
@pairs_option(
    "--bucket",
    "Count this key by buckets (repeatable): $date=month (day, week, month, quarter, year), or "
    "by bounds, as price=[10,20].",
)
@click.option("--profile", metavar="NAME", help="Named set of search options, such as balanced.")
@click.pass_obj
def command(
    database_url: str | None,
    request: SearchRequest,
    keys: tuple[str, ...],
    bucket: tuple[tuple[str, Any], ...],
    profile: str | None,
    output_format: str,
) -> None:
    """Count values over all candidates of a search.

    QUERY is that of `pgblend query`. Counted are passages, and the documents that they are in, of
    the whole pool that pages are cut from (the option candidate_depth), not of one page. --limit
    is the most values of each key; passages without one are counted last.

    \b
    Examples:
      pgblend facets vacuum --key year --key '$language'
      pgblend facets vacuum --bucket '$date=month' --bucket 'pages=[10,100]'
    """
    buckets = merge_pairs(bucket)
    counted = list(dict.fromkeys([*keys, *buckets]))
    if not counted:
        raise click.UsageError("name what to count: --key KEY, or --bucket KEY=BUCKETS")
    more = {"keys": counted, "profile": profile, "buckets": json.dumps(buckets)}
    parameters = request.parameters() | more
    with open_database(database_url) as connection:
        warnings = collect_warnings(connection)
        wait_for_changes(connection, request.options)
        rows, degraded = fetch_search(connection, FACETS, parameters)
    pool_size = rows[0]["pool_size"] if rows else 0
    facets = [{column: row[column] for column in _COLUMNS} for row in rows]
    if output_format == "json":
        output.echo_json(
            {
                "query": request.query,
                "pool_size": pool_size,
                "facets": facets,
                "degraded": degraded,
                "warnings": warnings,
            }
        )
    elif output_format == "csv":
        output.echo_csv(facets, _COLUMNS)
    elif not rows:
        click.echo("pgblend: no results", err=True)
    else:
        shown = [{**row, "value": "(none)" if row["value"] is None else row["value"]}
                 for row in facets]  # fmt: skip
        output.echo_rows(shown, _COLUMNS, output_format)
        click.echo(f"pgblend: counted over {pool_size} passages", err=True)
