"""How the results of `search`, `vsearch` and `query` look, in every format."""

import json
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.plpy.answers.parts import passage_label

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

_NARROW = 60
_AROUND = ("context_before", "context_after")


def echo_results(
    output_format: str, query: str, rows: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    """Print the results in the format that was asked for; `more` stands beside them in JSON."""
    if output_format == "json":
        results = [{column: row[column] for column in RESULT_COLUMNS} for row in rows]
        output.echo_json({"query": query, "results": results} | more)
    elif output_format == "csv":
        output.echo_csv(rows, RESULT_COLUMNS)
    elif output_format == "md":
        _echo_markdown(rows)
    elif output_format == "files":
        output.echo_files(rows)
    elif rows:
        _echo_table(rows)
    else:
        click.echo("pgblend: no results", err=True)


def reasons(arms: dict[str, Any] | None, details: dict[str, Any] | None = None) -> str:
    """Say in short which arms found a row, at which rank, and what changed its score.

    For example 'lexical #1, vector #3, boost {"brand": "acme"} by 2, pinned for tv'.
    """
    ranks = sorted((arm["rank"], name) for name, arm in (arms or {}).items())
    told = [f"{name} #{rank}" for rank, name in ranks]
    synonyms = (arms or {}).get("lexical", {}).get("synonyms", {})
    told += [output.one_line(f"{words} as {', '.join(texts)}") for words, texts in synonyms.items()]
    found = details or {}
    told += [f"{name} by {found[name]:.3g}" for name in ("recency", "language")
             if found.get(name, 1) != 1]  # fmt: skip
    return ", ".join([*told, *map(rule_text, found.get("rules", []))])


def rule_text(change: dict[str, Any]) -> str:
    """Say what a rule did to a row."""
    if "pinned" in change:
        return f"pinned for {output.one_line(change['pinned'])}"
    name = "boost" if "boost" in change else "decay"
    by = change[name] if isinstance(change[name], str) else json.dumps(change[name])
    return f"{name} {output.one_line(by)} by {change['factor']:.3g}"


def also_in(row: output.Row) -> str:
    """Name the documents that hold a row's text as well, the first three; "" for none."""
    copies = (row["details"] or {}).get("copies", [])
    names = [output.one_line(copy["uri"] or copy["source_key"]) for copy in copies[:3]]
    more = [f"{len(copies) - 3} more"] if len(copies) > 3 else []
    return f"also in {', '.join(names + more)}" if copies else ""


def place(row: output.Row) -> str:
    """Name where a row stands: its URI or source key, and its lines."""
    name = output.one_line(row["uri"] or row["source_key"] or "")
    start, end = row["start_line"], row["end_line"]
    if start is None:
        return name
    return f"{name}:{start}" if end in (None, start) else f"{name}:{start}-{end}"


def place_of_part(part: output.Row) -> str:
    """Name where a part of a context stands: its URI or source key, lines and pages."""
    return output.one_line(passage_label(part))


def _echo_table(rows: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("document", overflow="fold", ratio=2)
    is_narrow = output.width() < _NARROW
    if not is_narrow:
        table.add_column("text", overflow="fold", ratio=3)
    for row in rows:
        document = Text(output.one_line(row["title"] or row["source_key"]), style="bold")
        document.append(f"\n{place(row)}", style="not bold cyan")
        document.append(f"\n{reasons(row['arms'], row['details'])}", style="not bold dim")
        if copies := also_in(row):
            document.append(f"\n{copies}", style="not bold dim")
        snippet = Text()
        if row["context_before"]:
            snippet.append(f"{output.one_line(row['context_before'])}\n", style="dim")
        for piece, is_hit in output.marked_pieces(row["snippet"] or ""):
            snippet.append(piece, style="bold yellow" if is_hit else "")
        if row["context_after"]:
            snippet.append(f"\n{output.one_line(row['context_after'])}", style="dim")
        if is_narrow:  # the text stands below the document, not beside it
            table.add_row(f"{row['score']:.3f}", document.append("\n").append_text(snippet))
        else:
            table.add_row(f"{row['score']:.3f}", document, snippet)
    output.echo_renderable(table)


def _echo_markdown(rows: list[dict[str, Any]]) -> None:
    escape = output.escape_markdown
    for row in rows:
        title = output.one_line(row["title"] or row["source_key"])
        click.echo(f"{row['rank']}. **{escape(title)}** ({escape(place(row))})")
        told = (f"score {row['score']:.3f}", reasons(row["arms"], row["details"]), also_in(row))
        for line in filter(None, told):
            click.echo(f"   - {escape(line)}")
        click.echo()
        text = "".join(
            f"**{escape(piece)}**" if is_hit else escape(piece)
            for piece, is_hit in output.marked_pieces(row["snippet"] or "")
        )
        around = [output.one_line(row[column] or "") for column in _AROUND]
        quoted = [escape(around[0]), text, escape(around[1])]
        click.echo("".join(f"   > {line}\n   >\n" for line in quoted if line)[: -len("   >\n")])
