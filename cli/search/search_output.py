"""How results look in every format, and snippets without the marks of Markdown and HTML."""

import json
import re
from collections.abc import Callable
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.plpy.answers.render import passage_label

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


# cli/doors/page/static/words.js has the same.
_PROGRAM = re.compile(
    r"\.(?:py|pyi|js|mjs|ts|tsx|jsx|c|h|cc|cpp|hpp|cs|go|rs|java|kt|swift|rb|php|pl|lua|r|sh|bash|sql"
    r"|ps1|css|json|ya?ml|toml|ini|conf|log|csv|tsv)$",
    re.IGNORECASE,
)
# Signs of code and escaped signs wait in Unicode's last private area, where no pattern finds them.
_PRIVATE = 0x10FE00
_SIGNS = "".join(chr(sign) for sign in range(0x21, 0x7F) if not chr(sign).isalnum())
_HIDDEN = {ord(sign): chr(_PRIVATE + ord(sign)) for sign in _SIGNS}
_SHOWN = {_PRIVATE + ord(sign): sign for sign in _SIGNS}


def _hide_code(found: re.Match[str]) -> str:
    pieces = re.split(r"(</?mark>)", found[3])
    return found[1] + "".join(
        piece if place % 2 else piece.translate(_HIDDEN) for place, piece in enumerate(pieces)
    )


_INLINE = (
    "a|abbr|b|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strong|su[bp]|u|var"
    "|wbr"
)
_BLOCK = (
    "br|center|dd|details|div|dl|dt|h[1-6]|hr|img|li|ol|p|picture|pre|source|summary|table|tbody"
    "|td|tfoot|th|thead|tr|ul"
)
_INLINE_TAG, _BLOCK_TAG = (
    rf"(?i)&lt;/?(?:{names})(?:\s(?:(?!&gt;)[^<])*)?/?&gt;" for names in (_INLINE, _BLOCK)
)
_By = str | Callable[[re.Match[str]], str]
_PATTERNS: tuple[tuple[str, _By], ...] = (
    (r"(?s)(^|\s)(`{3,}|~{3,})[\w+#.-]*(\s.*?\s)\2(?=\s|$)", _hide_code),
    (r"(^|\s)(?:`{3,}|~{3,})[\w+#.-]*(?=\s|$)", r"\1"),  # one fence, with its language
    (r"(^|[^`\\])(`{1,2})(?!`)(.+?)\2(?!`)", _hide_code),
    (r"\\([!-/:-@\[-`{-~])", lambda found: found[1].translate(_HIDDEN)),
    (r"(?s)&lt;!--.*?--&gt;", ""),
    (_INLINE_TAG, ""),
    (_BLOCK_TAG, " "),
    (r"&amp;(?:nbsp|#160);", " "),
    (r"&amp;(amp|lt|gt|quot|#39);", r"&\1;"),
    (r"(?i)&lt;((?:[a-z][a-z0-9+.-]+:|[^\s&@]+@)(?:(?!&[lg]t;)\S)*)&gt;", r"\1"),  # addresses
    (r"\[\^[^\[\]\s]+\]:?", ""),  # footnotes
    (
        r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s[^()]*)?\)",
        r"\1",
    ),  # links
    (r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]", r"\1"),
    (r"\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
    (r"\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?)?", " "),  # tables
    (r"\s*\|\s*", " "),
    (r"(^|\s)(?:#{1,6}|&gt;|[-*+]|\d+\.)(?=\s)", r"\1"),  # headings, quotations, items
    (r"(^|\s)\[[ xX]\](?=\s)", r"\1"),  # tasks
    (r"(^|\s)\[!(\w+)\](?=\s|$)", r"\1\2"),  # callouts
    (r"(^|\s):{3,}[\w-]*(?=\s|$)", r"\1"),
    (r"(^|\s)\[[^\[\]\s]+\]:\s+\S+", r"\1"),  # what links by name lead to
    (r"(^|\s)(?:={3,}|[-+]{3,}|(?:[*_-] ?){3,})(?=\s|$)", r"\1"),  # lines below headings, rules
    (r"`+|\*\*|~~", ""),
    (r"(^|\s)==(\S(?:[^=]*\S)?)==(?=[\s.,;:!?)]|$)", r"\1\2"),
    (r"(\w)~(\w{1,9})~", r"\1\2"),
    (r"(^|[\s(>])[*_]+(?=[^\s*_])", r"\1"),
    (r"([^\s*_])[*_]+(?=[\s).,;:!?<]|$)", r"\1"),
)
_MARKS = [(re.compile(pattern), by) for pattern, by in _PATTERNS]


def is_code(name: str) -> bool:
    """Tell whether a file is a program or data, whose marks are no Markdown."""
    return bool(_PROGRAM.search(name))


def without_markdown(snippet: str) -> str:
    """Return an escaped snippet without the marks of Markdown and HTML; words and hits stay."""
    for pattern, by in _MARKS:
        snippet = pattern.sub(by, snippet)
    return snippet.translate(_SHOWN)
