"""From a document to its chunks, each with its headings, context and place in the source."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from pgblend.cli.ingest.code_passages import CodeContext, code_bounds
from pgblend.cli.ingest.document import Document, Heading, Place
from pgblend.cli.ingest.messages import group_messages
from pgblend.cli.ingest.piece_tokens import piece_tokens
from pgblend.cli.ingest.settings import ChunkSettings
from pgblend.cli.ingest.table_context import TableContext
from pgblend.cli.ingest.token_spans import TokenSpans
from pgblend.cli.tokens import count_tokens
from pgblend.plpy.lexical.headings import Heading as ShownHeading
from pgblend.plpy.lexical.headings import levelled, marked
from pgblend.plpy.lexical.split import split_text

Chunk = dict[str, Any]

# Longer texts are split window by window, so that memory holds the tokens of one window.
WINDOW_CHARACTERS = 1_000_000
# How far before a window its first chunk's overlap may reach.
_CONTEXT_CHARACTERS = 10_000
# A window's end changes how the paragraph around it is split, which the chunk before may begin.
_SPLIT_AGAIN = 2
_LONGEST_INDENTATION = 1000
_LONGEST_MARKUP = 200
_WORD = re.compile(r"\w+")


def split_document(document: Document, settings: ChunkSettings) -> list[Chunk]:
    """Return a document's chunks, as blend.ingest_document takes them."""
    return list(iterate_chunks(document, settings))


def iterate_chunks(document: Document, settings: ChunkSettings) -> Iterator[Chunk]:
    """Yield a document's chunks in order."""
    if document.messages:
        sizes = settings.chunk_size, settings.overlap, settings.min_size
        for chunk in group_messages(document.messages, *sizes):
            chunk["piece_tokens"] = piece_tokens(chunk["content"], chunk.get("own_start", 0))
            yield chunk
        return
    place = _Placer(document)
    line = 0
    bounds = sorted({0, *document.breaks, len(document.text)})
    if document.scopes:
        bounds = code_bounds(document, settings.chunk_size)
    for start, end in pairwise(bounds):
        part = document.text[start:end]
        for chunk, spans in split_windows(part, settings):
            if document.whole_lines:
                _snap_to_lines(chunk, part, settings.chunk_size, spans)
            chunk["piece_tokens"] = piece_tokens(
                chunk["content"], chunk["own_start"], spans, chunk["start_offset"]
            )
            _shift(chunk, start, line)
            place.add_to(chunk)
            yield chunk
        line += part.count("\n")


def split_windows(text: str, settings: ChunkSettings) -> Iterator[tuple[Chunk, TokenSpans]]:
    """Split a text of any length, and yield each chunk with the tokens of the text around it.

    The last chunks of a window are split anew with the next.
    """
    own_start = line = begin = 0
    while True:
        end = min(begin + WINDOW_CHARACTERS, len(text))
        spans = TokenSpans(text, begin, end)
        chunks = split_text(
            text[begin:end],
            count_tokens,
            settings.chunk_size,
            settings.overlap,
            settings.min_size,
            spans.ends,
            own_start - begin,
            partial(_count_from, spans, begin),
        )
        next_start = end
        if end < len(text) and len(chunks) > _SPLIT_AGAIN:
            first = chunks[-_SPLIT_AGAIN]
            next_start = begin + first["start_offset"] + first["own_start"]
            del chunks[-_SPLIT_AGAIN:]
        for chunk in chunks:
            _shift(chunk, begin, line)
            yield chunk, spans
        if end == len(text):
            return
        own_start = next_start
        next_begin = max(own_start - _CONTEXT_CHARACTERS, begin)
        line += text.count("\n", begin, next_begin)
        begin = next_begin


def _count_from(spans: TokenSpans, begin: int, start: int, end: int) -> int:
    return spans.count(begin + start, begin + end)


def _shift(chunk: Chunk, offset: int, line: int) -> None:
    chunk["start_offset"] += offset
    chunk["end_offset"] += offset
    chunk["start_line"] += line
    chunk["end_line"] += line


def _snap_to_lines(chunk: Chunk, text: str, chunk_size: int, spans: TokenSpans) -> None:
    """Let a chunk and its own text begin where a line does, indentation included.

    Where only a part of a line fits into a chunk, its own text begins within the line.
    """
    start, end = chunk["start_offset"], chunk["end_offset"]
    own = start + chunk["own_start"]
    own_line = _line_start(text, own)
    if own_line is None:
        own_line = own
    line = _line_start(text, start)
    if line is None:
        line = text.find("\n", start, own_line) + 1 or own_line
    new_start = min(line, own_line)
    tokens = spans.count(new_start, end)
    if tokens > chunk_size:
        new_start, tokens = own, spans.count(own, end)
    first, second = sorted((start, new_start))
    lines = text.count("\n", first, second)
    chunk["start_line"] += lines if new_start > start else -lines
    chunk["own_start"] = max(own_line if new_start <= own_line else own, new_start) - new_start
    chunk["start_offset"] = new_start
    chunk["content"] = text[new_start:end]
    chunk["token_count"] = tokens


def _line_start(text: str, position: int) -> int | None:
    """Return where the line of a position begins; None where words stand before the position."""
    bound = max(position - _LONGEST_INDENTATION, 0)
    start = text.rfind("\n", bound, position) + 1 or bound
    begins_line = start == 0 or text[start - 1] == "\n"
    return start if begins_line and not text[start:position].strip() else None


class _Placer:
    """Gives chunks the headings above them, the context of tables, and their pages or rows."""

    def __init__(self, document: Document) -> None:
        self._heading_offsets = [heading.offset for heading in document.headings]
        self._paths = _heading_paths(document.headings, document.title)
        self._place_offsets = [place.offset for place in document.places]
        self._places = document.places
        self._kind = document.kind
        self._shown = _shown_headings(document) if document.headings else None
        self._tables = TableContext(document.tables)
        self._code = CodeContext(document) if document.kind == "code" else None

    def add_to(self, chunk: Chunk) -> None:
        """Add what there is to say about a chunk."""
        own_start = chunk["start_offset"] + chunk["own_start"]
        index = bisect_right(self._heading_offsets, own_start) - 1
        if index >= 0 and self._paths[index]:
            chunk["heading"] = self._paths[index]
        context = (
            self._code.of(own_start)
            if self._code
            else self._tables.of(own_start, chunk["end_offset"], chunk.get("heading", ""))
        )
        if context:
            chunk["context"] = context
        if self._shown is not None:
            chunk["own_headings"] = marked(self._shown, own_start, chunk["end_offset"])
        if self._places:
            self._add_places(chunk)
        if self._kind != "doc":
            chunk["kind"] = self._kind

    def _add_places(self, chunk: Chunk) -> None:
        """Add the pages, times, or the sheet and rows, that any of the chunk's text stands on."""
        first = max(bisect_right(self._place_offsets, chunk["start_offset"]) - 1, 0)
        last = max(bisect_left(self._place_offsets, chunk["end_offset"]), first + 1)
        touched: Sequence[Place] = self._places[first:last]
        pages = sorted({place.page for place in touched if place.page is not None})
        rows = [place.row for place in touched if place.row is not None]
        times = [place.times for place in touched if place.times]
        if pages:
            chunk["pages"] = pages
        if times:
            chunk["metadata"] = {"times": [times[0][0], times[-1][1]]}
        if rows:
            chunk["metadata"] = {"rows": [min(rows), max(rows)]}
            if touched[0].sheet:
                chunk["metadata"]["sheet"] = touched[0].sheet


def _shown_headings(document: Document) -> list[ShownHeading]:
    """Return the headings that stand in the text as such; rows and code have none there."""
    if document.whole_lines:
        return []
    headings = [ShownHeading(each.offset, each.level, each.text) for each in document.headings]
    return [each for each in levelled(headings) if _begins_with(document.text, each)]


def _begins_with(text: str, heading: ShownHeading) -> bool:
    """Whether a heading's words stand where it is said to begin; markup may be among them."""
    words = _WORD.findall(heading.text.casefold())
    shown = text[heading.offset : heading.offset + 2 * len(heading.text) + _LONGEST_MARKUP]
    return words == _WORD.findall(shown.casefold())[: len(words)]


def _heading_paths(headings: Sequence[Heading], title: str) -> list[str]:
    """Write each heading after those above it: "Install > Debian". The title is not repeated.

    One without a text ends the one before it.
    """
    paths = []
    above: list[Heading] = []
    for heading in headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        texts = [item.text for item in above]
        paths.append(" > ".join(filter(None, texts[1:] if texts[0] == title else texts)))
    return paths
