"""`pgblend context`: what a search finds, made to fit a budget of tokens."""

import json
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import collect_warnings, fetch_value, open_database, tell_if_empty
from pgblend.cli.base.parameters import merge_pairs, pairs_option
from pgblend.cli.search.search_commands import (
    SearchRequest,
    history_option,
    search_options,
    stage_options,
)
from pgblend.cli.search.search_output import place_of_part
from pgblend.cli.search.statements import CONTEXT, wait_for_changes

_FORMATS = {"md": "markdown", "messages": "messages"}


@click.command()
@search_options
@history_option
@stage_options
@click.option("--profile", metavar="NAME", help="Named set of search options, such as balanced.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Most tokens of it all.")
@click.option("--max-file-tokens", type=click.IntRange(min=1), help="Most tokens of a document.")
@click.option("--max-part-tokens", type=click.IntRange(min=1), help="Most tokens of a part.")
@pairs_option(
    "--reserve",
    "Keep tokens for a kind of passage (repeatable): code, doc, signature or metadata.",
    metavar="KIND=TOKENS",
)
@click.option(
    "--context-chars",
    type=click.IntRange(min=0),
    help="Characters of the text around each passage, before and after; 500 are usual.",
)
@click.option(
    "--order",
    type=click.Choice(["score", "structure", "document"]),
    help="Order of the parts; by score where nothing else is set.",
)
@output.output_options("json", "md", "messages")
@click.pass_obj
def command(
    database_url: str | None,
    request: SearchRequest,
    profile: str | None,
    max_tokens: int | None,
    max_file_tokens: int | None,
    max_part_tokens: int | None,
    reserve: tuple[tuple[str, Any], ...],
    context_chars: int | None,
    order: str | None,
    output_format: str,
) -> None:
    """Gather passages within a budget of tokens.

    Searches as `pgblend query` does, drops what repeats, joins neighbouring passages, and stops
    at the budget: for a language model, or for reading. Tokens are those of cl100k_base.

    \b
    Examples:
      pgblend context 'how do I deploy' --max-tokens 2000 --md
      pgblend context 'how do I deploy' --reserve code=500 --messages
    """
    named = {
        "max_tokens": max_tokens,
        "max_file_tokens": max_file_tokens,
        "max_part_tokens": max_part_tokens,
        "reserve_tokens": merge_pairs(reserve) or None,
        "context_order": order,
        "context_chars": context_chars,
    }
    given = [(name, value) for name, value in named.items() if value is not None]
    options = merge_pairs([*request.options.items(), *given])
    parameters = request.parameters() | {
        "profile": profile,
        "options": json.dumps(options),
        "output_format": _FORMATS.get(output_format, "json"),
    }
    with open_database(database_url) as connection:
        warnings = collect_warnings(connection)
        wait_for_changes(connection, request.options)
        context = fetch_value(connection, CONTEXT, parameters)
        if not context["parts"]:
            tell_if_empty(connection)
    _echo(context, warnings, output_format)


def _echo(context: dict[str, Any], warnings: list[str], output_format: str) -> None:
    """Print the context in the format that was asked for, and its size on standard error."""
    if output_format == "json":
        output.echo_json(context | {"warnings": warnings})
        return
    stats = context["stats"]
    if output_format == "md":
        click.echo(output.printable(context["markdown"]))
    elif output_format == "messages":
        output.echo_json(context["messages"])
    elif context["parts"]:
        _echo_parts(context["parts"])
    missing = stats["left_out"]
    left_out = f", {output.counted(missing, 'passage')} did not fit" if missing else ""
    most, parts, files = (
        output.counted(stats[name], noun)
        for name, noun in (("max_tokens", "token"), ("parts", "part"), ("files", "document"))
    )
    click.echo(
        f"pgblend: {stats['tokens']:,} of {most}: {parts} of {files}{left_out}",
        err=True,
    )


def _echo_parts(parts: list[dict[str, Any]]) -> None:
    """Print where the parts come from and how they begin."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("document", overflow="fold", ratio=2)
    table.add_column("text", overflow="fold", ratio=3)
    for part in parts:
        document = Text(output.one_line(part["title"] or part["source_key"]), style="bold")
        document.append(f"\n{place_of_part(part)}", style="not bold cyan")
        document.append(f"\n{part['kind']}, {part['reason']}", style="not bold dim")
        text = output.one_line(part["text"])
        shown = text if len(text) <= 300 else f"{text[:300]}…"
        table.add_row(f"[{part['citation']}]", str(part["tokens"]), document, Text(shown))
    output.echo_renderable(table)
