"""Markdown: the source is the text; front matter becomes metadata, headings become context."""

import re
from itertools import pairwise
from typing import Any

import yaml
from markdown_it import MarkdownIt

from pgblend.cli.ingest.document import Document, Heading, Table, storable_value
from pgblend.cli.ingest.tables import TableRows, with_captions
from pgblend.cli.ingest.title import top_heading

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# Only the block structure is needed; inline markup is parsed for headings alone.
_BLOCKS = MarkdownIt("commonmark").enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE = MarkdownIt("commonmark")
_MARKUP = re.compile(r"[*_`\[\]<>&\\!]")


def parse_markdown(source: str) -> Document:
    """Return text, title, metadata, headings and tables of a Markdown file.

    Front matter leaves blank lines behind, so that line numbers stay those of the file. The title
    is the front matter's, else a single heading of level 1 at the top, else "".
    """
    metadata, text = _split_front_matter(source)
    headings, tables = _blocks(text)
    title = _plain_value(metadata.pop("title", None)) or top_heading(headings, text)
    return Document(
        title=title,
        text=text,
        metadata=metadata,
        headings=headings,
        tables=with_captions(tables, text, headings),
    )


def _plain_value(title: Any) -> str:
    """Return a front matter's title, which may be a year or a date; "" where it is none."""
    is_plain = isinstance(title, str | int | float) and not isinstance(title, bool)
    return " ".join(str(title).split()) if is_plain else ""


def _split_front_matter(source: str) -> tuple[dict[str, Any], str]:
    """Take YAML from the top of the file; what is not a YAML mapping stays text."""
    match = _FRONT_MATTER.match(source)
    if not match:
        return {}, source
    try:
        metadata = yaml.safe_load(match.group(1))
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, source
    if not isinstance(metadata, dict):
        return {}, source
    blank_lines = "\n" * source.count("\n", 0, match.end())
    return storable_value(metadata), blank_lines + source[match.end() :]


def _blocks(text: str) -> tuple[tuple[Heading, ...], list[Table]]:
    """Return headings and tables."""
    line_offsets = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    headings = []
    tables = []
    rows = TableRows()
    cells: list[str] = []
    end = 0
    for token, content in pairwise(_BLOCKS.parse(text)):
        if token.type == "heading_open" and token.map:
            plain = _plain_text(content.content)
            if plain:
                headings.append(Heading(line_offsets[token.map[0]], int(token.tag[1]), plain))
        elif token.type == "table_open" and token.map:
            rows = TableRows()
            end = line_offsets[token.map[1]]
        elif token.type == "tr_open" and token.map:
            cells = []
            offset = line_offsets[token.map[0]]
        elif token.type in ("th_open", "td_open"):
            cells.append(_plain_text(content.content))
        elif token.type == "tr_close":
            rows.add(offset, cells, is_header=content.type == "thead_close")
        if content.type == "table_close" and (table := rows.table(end)):
            tables.append(table)
    return tuple(headings), tables


def _plain_text(markup: str) -> str:
    """Leave out the markup of a heading."""
    if _MARKUP.search(markup):
        inline = _INLINE.parseInline(markup)[0].children or []
        markup = "".join(" " if child.type == "softbreak" else child.content for child in inline)
    return " ".join(markup.split())
