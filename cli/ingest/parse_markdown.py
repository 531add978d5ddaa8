"""Markdown: the text is what is shown, line by line; headings become context."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pgblend.cli.ingest.document import Document, Heading, Link, Table
from pgblend.cli.ingest.find_links import find_links
from pgblend.cli.ingest.front_matter import split_front_matter
from pgblend.cli.ingest.shown_markdown import shown
from pgblend.cli.ingest.tables import TableRows, with_captions
from pgblend.cli.ingest.title import top_heading

_CODE = frozenset(("fence", "code_block"))
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}\n]*\}[ \t]*$")
_NOTE = re.compile(r"\[\^[^\]\s]+\]")
# Only the block structure is needed; inline markup is parsed for headings alone.
_BLOCKS = MarkdownIt("commonmark").enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE = MarkdownIt("commonmark")
_MARKUP = re.compile(r"[*_`\[\]<>&\\!]")


def parse_markdown(source: str, is_mdx: bool = False) -> Document:
    """Return text, title, metadata, headings, tables and links of a Markdown file.

    Front matter leaves blank lines behind, so that line numbers stay those of the file. The title
    is the front matter's, else a single heading of level 1 at the top, else "".
    """
    metadata, text, left_out = split_front_matter(source)
    tokens = _BLOCKS.parse(text)
    links = find_links(text)
    raw = text
    text = shown(text, _code_lines(tokens), is_mdx)
    headings, tables = _blocks(tokens, text)
    title = _plain_value(metadata.pop("title", None)) or top_heading(headings, text)
    return Document(
        title=title,
        text=text,
        metadata=metadata,
        headings=headings,
        tables=with_captions(tables, text, headings),
        links=links if raw == text else _at_lines(links, raw, text),
        left_out=left_out,
    )


def parse_mdx(source: str) -> Document:
    """Return the same of Markdown with components."""
    return parse_markdown(source, is_mdx=True)


def _code_lines(tokens: Sequence[Token]) -> list[range]:
    """Return the lines of code; those of a fence in a list are it too."""
    return [range(*token.map) for token in tokens if token.type in _CODE and token.map]


def _at_lines(links: tuple[Link, ...], raw: str, text: str) -> tuple[Link, ...]:
    """Move links to the lines that they stand on: the lines of both texts are the same."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    moved = []
    line = place = 0
    for link in links:
        line += raw.count("\n", place, link.offset)
        place = link.offset
        moved.append(replace(link, offset=starts[min(line, len(starts) - 1)]))
    return tuple(moved)


def _plain_value(title: Any) -> str:
    """Return a front matter's title, which may be a year or a date; "" where it is none."""
    is_plain = isinstance(title, str | int | float) and not isinstance(title, bool)
    return " ".join(str(title).split()) if is_plain else ""


def _blocks(tokens: Sequence[Token], text: str) -> tuple[tuple[Heading, ...], list[Table]]:
    """Return headings and tables."""
    line_offsets = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    headings = []
    tables = []
    rows = TableRows()
    cells: list[str] = []
    end = 0
    for token, content in pairwise(tokens):
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
    markup = _ATTRIBUTES.sub("", _NOTE.sub("", markup))
    if _MARKUP.search(markup):
        inline = _INLINE.parseInline(markup)[0].children or []
        markup = "".join(" " if child.type == "softbreak" else child.content for child in inline)
    return " ".join(markup.split())
