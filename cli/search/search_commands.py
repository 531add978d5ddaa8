"""What `search`, `vsearch` and `query` share: their options, the call, and the explanation."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import update_wrapper
from pathlib import Path
from typing import Any, LiteralString, NamedTuple

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import collect_warnings, fetch_search, open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.files import write_file
from pgblend.cli.base.parameters import (
    Fraction,
    JsonObject,
    is_blank,
    merge_pairs,
    pairs_option,
    parse_json,
)
from pgblend.cli.documents.language import configuration_named
from pgblend.cli.search.search_output import echo_results
from pgblend.cli.search.statements import SearchRequest as SearchRequest
from pgblend.cli.search.statements import wait_for_changes
from pgblend.plpy.lexical.query import excluded_texts

# What all search functions are made of; it says as well how it came to its rows.
_TRACED_SEARCH: LiteralString = """
    SELECT s.trace, r.*
    FROM pgblend._search(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector,
        only_arm => %(only_arm)s::text, traced => 'page') AS s
    LEFT JOIN LATERAL unnest(s.results) AS r ON true
    ORDER BY r.rank
"""


@dataclass(frozen=True)
class Presentation:
    """How the results are to be shown, and whether also how the search came to them."""

    output_format: str
    explain: bool
    explain_html: Path | None

    @property
    def is_traced(self) -> bool:
        """Whether the search has to say how it came to its results, or as JSON what it was."""
        return self.explain or self.explain_html is not None or self.output_format == "json"


def _not_blank(ctx: click.Context, parameter: click.Parameter, given: str) -> str:
    if is_blank(given):
        raise click.BadParameter(f"{given!r}: expected a question or words", ctx, parameter)
    return given


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
        since: str | None,
        until: str | None,
        option: tuple[tuple[str, Any], ...],
        **kwargs: Any,
    ) -> None:
        language = lang and configuration_named(lang)
        named = {"min_score": min_score, "language": language, "since": since, "until": until}
        pairs = [(key, value) for key, value in named.items() if value is not None]
        request = SearchRequest(
            query=query,
            limit=limit,
            collections=list(collection) or None,
            filter=filter,
            options=merge_pairs([*pairs, *option]),
        )
        function(*args, request=request, **kwargs)

    decorators = (
        click.argument("query", callback=_not_blank),
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
            help='Only rows that pass: {"author": "knuth", "year": {"gte": 1974}, '
            '"$uri": {"prefix": "docs/"}}.',
        ),
        click.option("--min-score", type=Fraction(), help="Leave out results below this score."),
        click.option(
            "--lang",
            metavar="NAME",
            help="Only documents of this language: german, or its ISO code: de, zh.",
        ),
        click.option("--since", metavar="DATE", help="Only documents of this date or later."),
        click.option("--until", metavar="DATE", help="Only documents of this date or earlier."),
        pairs_option(
            "--option",
            "Any other search option (repeatable), such as rrf_k=20 or "
            "'weights={\"vector\": 2}'; `pgblend config list` names them.",
        ),
    )
    return _decorate(update_wrapper(with_request, function), decorators)


def history_option(function: Callable[..., None]) -> Callable[..., None]:
    """Add the chat before the query; it becomes an option of the request."""

    def with_history(
        *args: Any, request: SearchRequest, history: Path | None, **kwargs: Any
    ) -> None:
        if history is not None:
            said = ("history", read_chat(history))
            request = replace(request, options=merge_pairs([*request.options.items(), said]))
        function(*args, request=request, **kwargs)

    option = click.option(
        "--history",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help='JSON of the chat before the query: [{"role": "user", "content": "…"}, …]; where a '
        "model expands queries, it says what the query refers to.",
    )
    return _decorate(update_wrapper(with_history, function), (option,))


def read_chat(file: Path) -> Any:
    """Return the messages in a file; the search checks what they are."""
    try:
        return parse_json(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        hint = 'expected [{"role": "user", "content": "…"}, …]'
        raise UserError(f"{file} holds no chat: {error}", hint=hint) from None


def stage_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the switches of the stages that ask models; they become options of the request."""

    def with_stages(
        *args: Any,
        request: SearchRequest,
        fast: bool,
        thorough: bool,
        expand: bool | None,
        rerank: bool | None,
        **kwargs: Any,
    ) -> None:
        if fast and thorough:
            raise click.UsageError("--fast and --thorough exclude each other: give one of them")
        mode = "fast" if fast else "thorough" if thorough else None
        named = {"mode": mode, "expand": expand, "rerank": rerank}
        given = {key: value for key, value in named.items() if value is not None}
        function(*args, request=replace(request, options=given | request.options), **kwargs)

    decorators = (
        click.option("--fast", is_flag=True, help="Ask no model but for the query's vector."),
        click.option("--thorough", is_flag=True, help="Expand the query, and rerank."),
        click.option(
            "--expand/--no-expand",
            default=None,
            help="Search with variants of the query, too; by default with --thorough.",
        ),
        click.option(
            "--rerank/--no-rerank",
            default=None,
            help="Have a model score the best passages; the default, where one is set.",
        ),
    )
    return _decorate(update_wrapper(with_stages, function), decorators)


def presentation_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the formats and the explanations; the command gets them as `presentation`."""

    def with_presentation(
        *args: Any,
        request: SearchRequest,
        output_format: str,
        explain: bool,
        explain_html: Path | None,
        context_chars: int | None,
        **kwargs: Any,
    ) -> None:
        presentation = Presentation(output_format, explain, explain_html)
        if context_chars is not None:
            options = merge_pairs([*request.options.items(), ("context_chars", context_chars)])
            request = replace(request, options=options)
        function(*args, request=request, presentation=presentation, **kwargs)

    decorators = (
        click.option(
            "--context-chars",
            type=click.IntRange(min=0),
            metavar="N",
            help="Show so many characters of the text before and after each passage; 500 are "
            "usual.",
        ),
        click.option(
            "--explain",
            is_flag=True,
            help="Say on standard error how the search came to its results; with --json, in it.",
        ),
        click.option(
            "--explain-html",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Write a page that shows it: the pipeline, and how each result moved.",
        ),
        output.output_options("json", "csv", "md", "files"),
    )
    return _decorate(update_wrapper(with_presentation, function), decorators)


class SearchCall(NamedTuple):
    """How a command searches: the search function's own call, and the arm that it runs alone.

    The same search is asked for with its trace where it is to be explained. With `client_models`
    the models are asked from here, before.
    """

    sql: LiteralString
    only_arm: str | None = None
    profile: str | None = None
    client_models: bool = False


def run_search(
    database_url: str | None, request: SearchRequest, presentation: Presentation, call: SearchCall
) -> None:
    """Run the search and print its results; what was left out goes to standard error."""
    statement = _TRACED_SEARCH if presentation.is_traced else call.sql
    with open_database(database_url) as connection:
        warnings = collect_warnings(connection)
        wait_for_changes(connection, request.options)
        times_ms: dict[str, float] = {}
        if call.client_models:
            # It brings httpx, a third of what is imported, which few searches need.
            from pgblend.cli.search.asked_models import ask_models

            asked = ask_models(connection, request, call.profile, _warner(warnings))
            request, times_ms = asked.request, asked.times_ms
        parameters = request.parameters() | {"profile": call.profile, "only_arm": call.only_arm}
        rows, degraded = fetch_search(connection, statement, parameters)
    if presentation.is_traced and times_ms:
        from pgblend.cli.search.asked_models import with_model_times

        rows[0]["trace"] = with_model_times(rows[0]["trace"], times_ms)
    show_search(presentation, request.query, rows, degraded, warnings)


def show_search(
    presentation: Presentation,
    query: str,
    rows: list[dict[str, Any]],
    degraded: list[str],
    warnings: list[str],
) -> None:
    """Print what a search gave; with a trace each row has it, and a search without rows one row."""
    meta: dict[str, Any] = {}
    more: dict[str, Any] = {}
    if presentation.is_traced:
        trace = rows[0]["trace"]
        rows = [row for row in rows if row["rank"] is not None]
        meta["meta"] = trace["meta"]
        _explain(presentation, trace)
        if presentation.explain:
            more["explain"] = trace
    if excluded := excluded_texts(query):
        told = ", ".join(map(repr, excluded))
        click.echo(f"pgblend: note: passages with {told} are left out (a minus excludes)", err=True)
    for note in degraded:
        if not any(warning.endswith(note.partition(": ")[2]) for warning in warnings):
            click.echo(f"pgblend: note: {note}", err=True)
    more = meta | {"degraded": degraded, "warnings": warnings} | more
    echo_results(presentation.output_format, query, rows, more)


def _warner(warnings: list[str]) -> Callable[[str], None]:
    """Return what takes a warning as the database's own are taken."""

    def warn(message: str) -> None:
        warnings.append(message)
        click.echo(f"pgblend: warning: {message}", err=True)

    return warn


def _explain(presentation: Presentation, document: dict[str, Any]) -> None:
    """Show the trace as text, unless it will stand in the JSON, and as a page."""
    as_text = presentation.explain and presentation.output_format != "json"
    if not as_text and presentation.explain_html is None:
        return
    from pgblend.cli.search.explain_trace import Trace

    trace = Trace.from_json(document)
    if as_text:
        from pgblend.cli.search.explain_text import render_text

        output.echo_renderable(render_text(trace), err=True)
        click.echo(err=True)
    if presentation.explain_html is not None:
        from pgblend.cli.search.explain_page import render_page

        write_file(presentation.explain_html, render_page(trace))


def _decorate(
    command: Callable[..., None], decorators: tuple[Callable[..., Any], ...]
) -> Callable[..., None]:
    """Apply decorators so that their options stand in the help in this order."""
    for decorate in reversed(decorators):
        command = decorate(command)
    return command
