"""What `search`, `vsearch` and `query` share: their options, the call, and how results look."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, LiteralString

import click

from pgblend.cli import output
from pgblend.cli.database import collect_warnings, fetch_rows, open_database
from pgblend.cli.parameters import Fraction, JsonObject, KeyValue, merge_pairs

RESULT_COLUMNS = (
    "rank",
    "score",
    "relevance",
    "document_id",
    "chunk_id",
    "collection",
    "uri",
    "title",
    "snippet",
    "content",
    "start_line",
    "end_line",
    "pages",
    "metadata",
    "source_key",
    "context_before",
    "context_after",
    "arms",
    "details",
)


@dataclass(frozen=True)
class SearchRequest:
    """One search, as the command line asks for it."""

    query: str
    limit: int
    collections: list[str] | None
    filter: dict[str, Any] | None
    options: dict[str, Any]
    output_format: str

    def parameters(self) -> dict[str, object]:
        """Return what the SQL call binds."""
        return {
            "query": self.query,
            "limit": self.limit,
            "collections": self.collections,
            "filter": None if self.filter is None else json.dumps(self.filter),
            "options": json.dumps(self.options),
        }


def search_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the query and the options of a search; the command gets them as `request`."""

    def with_request(
        *args: Any,
        query: str,
        limit: int,
        collection: tuple[str, ...],
        filter: dict[str, Any] | None,
        min_score: float | None,
        lang: str | None,
        option: tuple[tuple[str, Any], ...],
        output_format: str,
        **kwargs: Any,
    ) -> None:
        named = {"min_score": min_score, "language": lang}
        pairs = [(key, value) for key, value in named.items() if value is not None]
        request = SearchRequest(
            query=query,
            limit=limit,
            collections=list(collection) or None,
            filter=filter,
            options=merge_pairs([*pairs, *option]),
            output_format=output_format,
        )
        function(*args, request=request, **kwargs)

    decorators = (
        click.argument("query"),
        click.option(
            "-n",
            "--limit",
            type=click.IntRange(min=1),
            default=10,
            show_default=True,
            help="Most results to show.",
        ),
        click.option(
            "-c",
            "--collection",
            multiple=True,
            metavar="NAME",
            help="Search this collection only (repeatable); without it all that you may read.",
        ),
        click.option(
            "--filter",
            type=JsonObject(),
            help='Only rows with these metadata: {"author": "knuth"}.',
        ),
        click.option("--min-score", type=Fraction(), help="Leave out results below this score."),
        click.option(
            "--lang",
            metavar="NAME",
            help="Only documents of this text search configuration, such as german.",
        ),
        click.option(
            "--option",
            type=KeyValue(),
            multiple=True,
            metavar="KEY=JSON",
            help="Any other search option (repeatable), such as rrf_k=20 or "
            "'weights={\"vector\": 2}'; `pgblend config list` names them.",
        ),
        output.output_options("json", "csv", "md", "files"),
    )
    command = update_wrapper(with_request, function)
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def run_search(
    database_url: str | None,
    request: SearchRequest,
    sql: LiteralString,
    parameters: dict[str, object] | None = None,
) -> None:
    """Run the search and print its results; what was left out goes to standard error."""
    with open_database(database_url) as connection:
        warnings = collect_warnings(connection)
        rows = fetch_rows(connection, sql, request.parameters() | (parameters or {}))
    degraded = list(dict.fromkeys(note for row in rows for note in row["degraded"] or ()))
    for note in degraded:
        if not any(warning.endswith(note.partition(": ")[2]) for warning in warnings):
            click.echo(f"pgblend: note: {note}", err=True)
    echo_results(request, rows, degraded, warnings)


def echo_results(
    request: SearchRequest, rows: list[dict[str, Any]], degraded: list[str], warnings: list[str]
) -> None:
    """Print the results in the format that was asked for."""
    if request.output_format == "json":
        results = [{column: row[column] for column in RESULT_COLUMNS} for row in rows]
        envelope = {"query": request.query, "results": results}
        output.echo_json(envelope | {"degraded": degraded, "warnings": warnings})
    elif request.output_format == "csv":
        output.echo_csv(rows, RESULT_COLUMNS)
    elif request.output_format == "md":
        _echo_markdown(rows)
    elif request.output_format == "files":
        output.echo_files(rows)
    elif rows:
        _echo_table(rows)
    else:
        click.echo("pgblend: no results", err=True)


def reasons(arms: dict[str, Any] | None) -> str:
    """Say in short which arms found a row, and at which rank: 'lexical #1, vector #3'."""
    ranks = sorted((arm["rank"], name) for name, arm in (arms or {}).items())
    return ", ".join(f"{name} #{rank}" for rank, name in ranks)


def place(row: output.Row) -> str:
    """Name where a row stands: its URI or source key, and its lines."""
    name = output.one_line(row["uri"] or row["source_key"] or "")
    start, end = row["start_line"], row["end_line"]
    if start is None:
        return name
    return f"{name}:{start}" if end in (None, start) else f"{name}:{start}-{end}"


def _echo_table(rows: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("document", overflow="fold", ratio=2)
    table.add_column("text", overflow="fold", ratio=3)
    for row in rows:
        document = Text(output.one_line(row["title"] or row["source_key"]), style="bold")
        document.append(f"\n{place(row)}", style="not bold cyan")
        document.append(f"\n{reasons(row['arms'])}", style="not bold dim")
        snippet = Text()
        for piece, is_hit in output.marked_pieces(row["snippet"] or ""):
            snippet.append(piece, style="bold yellow" if is_hit else "")
        table.add_row(f"{row['score']:.3f}", document, snippet)
    output.echo_renderable(table)


def _echo_markdown(rows: list[dict[str, Any]]) -> None:
    escape = output.escape_markdown
    for row in rows:
        title = output.one_line(row["title"] or row["source_key"])
        click.echo(f"{row['rank']}. **{escape(title)}** ({escape(place(row))})")
        click.echo(f"   score {row['score']:.3f}; {reasons(row['arms'])}\n")
        text = "".join(
            f"**{escape(piece)}**" if is_hit else escape(piece)
            for piece, is_hit in output.marked_pieces(row["snippet"] or "")
        )
        click.echo(f"   > {text}\n")
