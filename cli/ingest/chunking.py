"""From a document to its chunks, each with its headings and its place in the source."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pgblend.cli.ingest.document import Document, Heading, Place
from pgblend.cli.ingest.messages import group_messages
from pgblend.cli.ingest.settings import ChunkSettings
from pgblend.cli.ingest.token_ends import token_ends
from pgblend.cli.tokens import count_tokens
from pgblend.plpy.split_text import split_text

Chunk = dict[str, Any]


def split_document(document: Document, settings: ChunkSettings) -> list[Chunk]:
    """Split a document into chunks, as pgblend.ingest_document takes them."""
    sizes = settings.chunk_size, settings.overlap, settings.min_size
    if document.messages:
        return group_messages(document.messages, *sizes)
    chunks: list[Chunk] = []
    bounds = sorted({0, *document.breaks, len(document.text)})
    line = 0
    for start, end in pairwise(bounds):
        part = document.text[start:end]
        for chunk in split_text(part, count_tokens, *sizes, token_ends):
            if document.whole_lines:
                _snap_to_lines(chunk, part, settings.chunk_size)
            chunk["start_offset"] += start
            chunk["end_offset"] += start
            chunk["start_line"] += line
            chunk["end_line"] += line
            chunks.append(chunk)
        line += part.count("\n")
    _add_headings(chunks, document.headings, document.title)
    _add_places(chunks, document.places)
    if document.kind != "doc":
        for chunk in chunks:
            chunk["kind"] = document.kind
    return chunks


def _snap_to_lines(chunk: Chunk, text: str, chunk_size: int) -> None:
    """Let a chunk and its own text begin where a line does, indentation included.

    Where only a part of a line fits into a chunk, its own text begins within the line.
    """
    start, end = chunk["start_offset"], chunk["end_offset"]
    own = start + chunk["own_start"]
    own_line = text.rfind("\n", 0, own) + 1
    if text[own_line:own].strip():
        own_line = own
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():
        line_end = text.find("\n", start)
        line = line_end + 1 if line_end >= 0 else own_line
    new_start = min(line, own_line)
    tokens = count_tokens(text[new_start:end])
    if tokens > chunk_size:
        new_start, tokens = own, count_tokens(text[own:end])
    first, second = sorted((start, new_start))
    lines = text.count("\n", first, second)
    chunk["start_line"] += lines if new_start > start else -lines
    chunk["own_start"] = max(own_line if new_start <= own_line else own, new_start) - new_start
    chunk["start_offset"] = new_start
    chunk["content"] = text[new_start:end]
    chunk["token_count"] = tokens


def _add_headings(chunks: list[Chunk], headings: Sequence[Heading], title: str) -> None:
    """Give each chunk the headings above its own first word."""
    if not headings:
        return
    offsets = [heading.offset for heading in headings]
    paths = _heading_paths(headings, title)
    for chunk in chunks:
        index = bisect_right(offsets, chunk["start_offset"] + chunk["own_start"]) - 1
        if index >= 0 and paths[index]:
            chunk["heading"] = paths[index]


def _add_places(chunks: list[Chunk], places: Sequence[Place]) -> None:
    """Give each chunk the pages, or the sheet and the rows, that any of its text stands on."""
    offsets = [place.offset for place in places]
    for chunk in chunks if places else ():
        first = max(bisect_right(offsets, chunk["start_offset"]) - 1, 0)
        last = max(bisect_left(offsets, chunk["end_offset"]), first + 1)
        touched = places[first:last]
        pages = sorted({place.page for place in touched if place.page is not None})
        rows = [place.row for place in touched if place.row is not None]
        if pages:
            chunk["pages"] = pages
        if rows:
            chunk["metadata"] = {"rows": [rows[0], rows[-1]]}
            if touched[0].sheet:
                chunk["metadata"]["sheet"] = touched[0].sheet


def _heading_paths(headings: Sequence[Heading], title: str) -> list[str]:
    """Write each heading after those above it: "Install > Debian". The title is not repeated."""
    paths = []
    above: list[Heading] = []
    for heading in headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        texts = [item.text for item in above]
        paths.append(" > ".join(texts[1:] if texts[0] == title else texts))
    return paths
