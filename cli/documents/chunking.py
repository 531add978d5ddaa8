"""From a document to its chunks, each with its headings, context and place in the source."""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import Any

from pgblend.cli.base.token_count import TokenSpans, count_tokens, piece_tokens, token_ends
from pgblend.cli.documents.document import (
    Document,
    Heading,
    Message,
    Place,
    Scope,
    Table,
    TableRow,
    storable_text,
)
from pgblend.cli.documents.parse_settings import ChunkSettings
from pgblend.plpy.lexical.split_text import split_text
from pgblend.plpy.lexical.words import OwnHeading as ShownHeading
from pgblend.plpy.lexical.words import levelled, marked

# Chunks of messages: those of one context, in order, as many as fit.

_GAP = "\n\n"
_GAP_TOKENS = 2


def group_messages(
    messages: Sequence[Message], chunk_size: int, overlap: int, min_size: int
) -> list[dict[str, Any]]:
    """Return chunks as blend.ingest_document takes them; messages keep their order.

    Consecutive messages of one context share a chunk up to `chunk_size` tokens. One that is larger
    has chunks of its own, with overlap. A chunk's metadata name its authors, and of each message
    id, author, time and url. What the messages' own metadata say is collected.
    """
    chunks: list[dict[str, Any]] = []
    group: list[Message] = []
    texts: list[str] = []
    tokens = 0

    def close() -> None:
        nonlocal tokens
        if group:
            chunks.append(_chunk(_GAP.join(texts), group))
            group.clear()
            texts.clear()
            tokens = 0

    for message in messages:
        text = message_text(message)
        if not text:
            continue
        count = count_tokens(text)
        fits = tokens + _GAP_TOKENS + count <= chunk_size
        if group and (message.context != group[-1].context or not fits):
            close()
        if count > chunk_size:
            chunks.extend(_split(message, text, chunk_size, overlap, min_size))
            continue
        group.append(message)
        texts.append(text)
        tokens += count + (_GAP_TOKENS if tokens else 0)
    close()
    return chunks


def message_text(message: Message) -> str:
    """Write a message after its author and time; empty where it says nothing."""
    text = message.text.strip()
    if not text:
        return ""
    time = message.time[:16].replace("T", " ")
    about = f"{message.author} ({time})".strip() if time else message.author
    return f"{about}: {text}" if about else text


def _split(
    message: Message, text: str, chunk_size: int, overlap: int, min_size: int
) -> Iterator[dict[str, Any]]:
    """Split a message that is too large for one chunk."""
    ends = token_ends(text)
    for part in split_text(text, count_tokens, chunk_size, overlap, min_size, ends):
        chunk = _chunk(part["content"], [message])
        yield chunk | {"own_start": part["own_start"], "token_count": part["token_count"]}


def _chunk(content: str, group: Sequence[Message]) -> dict[str, Any]:
    metadata = _collected(group)
    authors = list(dict.fromkeys(message.author for message in group if message.author))
    times = [message.time for message in group if message.time]
    metadata["authors"] = authors
    if times:
        metadata["date"] = min(times)
    metadata["messages"] = [
        {
            key: value
            for key, value in (
                ("id", message.id),
                ("author", message.author),
                ("time", message.time),
                ("url", message.url),
            )
            if value
        }
        for message in group
    ]
    return {"content": content, "token_count": count_tokens(content), "metadata": metadata}


def _collected(group: Sequence[Message]) -> dict[str, Any]:
    """Merge the messages' metadata: one value stays itself, several become a list."""
    found: dict[str, dict[str, Any]] = {}
    lists = set()
    for message in group:
        for key, value in message.metadata.items():
            if isinstance(value, list):
                lists.add(key)
            for item in value if isinstance(value, list) else [value]:
                found.setdefault(key, {})[json.dumps(item)] = item
    return {
        key: items if key in lists or len(items) > 1 else items[0]
        for key, items in ((key, list(values.values())) for key, values in found.items())
    }


# What the rows of a table are to be read with, for a chunk that has some of them.

# In characters: models read the first few hundred tokens of a text.
_LONGEST_HEADER = 300
_LONGEST_LABELS = 400


class TableContext:
    """Finds the tables that a chunk has rows of."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables
        self._ends = [table.end for table in tables]
        self._starts = [table.start for table in tables]

    def of(self, start: int, end: int, heading: str) -> str:
        """Return caption, header and labels of rows of the tables within; "" where none is."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        lines = [
            line
            for table in self._tables[first:last]
            for line in _lines(table, start, end, heading)
        ]
        return storable_text("\n".join(lines))


def _lines(table: Table, start: int, end: int, heading: str) -> Iterator[str]:
    # The first may begin before, in a row that is longer than a chunk.
    first = max(bisect_right(table.rows, start, key=lambda row: row.offset) - 1, 0)
    last = bisect_left(table.rows, end, key=lambda row: row.offset)
    rows = table.rows[first:last]
    if rows:
        if table.caption:
            yield table.caption
        if table.header and table.header not in heading:
            yield table.header[:_LONGEST_HEADER]
        labels = ", ".join(_labels(rows))
        if labels:
            yield labels[:_LONGEST_LABELS]


def _labels(rows: Sequence[TableRow]) -> Iterator[str]:
    """Yield the labels once each, a group's name before the first row of it."""
    seen = {""}
    for row in rows:
        for label in (row.group, row.label):
            if label not in seen:
                seen.add(label)
                yield label


# Passages of source code: cut at functions and classes, with what is around them as context.

_LONGEST_SIGNATURE = 160
# Definitions are put together up to this share of a passage. One that is longer stands alone: a
# vector of many is near to none of them (docs/decisions/documents.md).
_TOGETHER = 4


def code_bounds(document: Document, limit: int) -> list[int]:
    """Return where parts of code begin and end, each of whole functions and classes.

    What is larger than a quarter of `limit` tokens is cut at what is within it. Smaller neighbours
    are put together up to that.
    """
    limit //= _TOGETHER
    text = document.text
    cuts: dict[int, list[int]] = {}
    for scope in document.scopes:
        cuts.setdefault(scope.depth, []).extend(_lines_around(text, scope))
    levels = [sorted(set(cuts[depth])) for depth in sorted(cuts)]
    bounds, tokens, start = [0], 0, 0
    for end, size in _whole(text, 0, len(text), levels, limit):
        if tokens + size > limit and start > bounds[-1]:
            bounds.append(start)
            tokens = 0
        tokens += size
        start = end
    return [*bounds, len(text)] if text else [0]


def _lines_around(text: str, scope: Scope) -> tuple[int, int]:
    end = text.find("\n", max(scope.end - 1, scope.start))
    return text.rfind("\n", 0, scope.start) + 1, len(text) if end < 0 else end + 1


def _whole(
    text: str, start: int, end: int, levels: list[list[int]], limit: int
) -> Iterator[tuple[int, int]]:
    """Yield what stays whole: where it ends, and its tokens."""
    size = count_tokens(text[start:end])
    if not levels or size <= limit:
        yield end, size
        return
    cuts = levels[0]
    inner = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
    for first, last in pairwise([start, *inner, end]):
        yield from _whole(text, first, last, levels[1:], limit)


class CodeContext:
    """Tells what is around a place in code: the path of its file, the classes and functions."""

    def __init__(self, document: Document) -> None:
        self._path = document.source_key
        self._scopes = document.scopes
        self._starts = [scope.start for scope in document.scopes]
        self._around: list[int] = []
        stack: list[int] = []
        for number, scope in enumerate(document.scopes):
            while stack and self._scopes[stack[-1]].end <= scope.start:
                stack.pop()
            self._around.append(stack[-1] if stack else -1)
            stack.append(number)

    def of(self, place: int) -> str:
        """Return the path, then the first lines of what the place lies within, from outside."""
        number = bisect_left(self._starts, place) - 1
        lines: list[str] = []
        while number >= 0:
            scope = self._scopes[number]
            if scope.end > place:
                lines.insert(0, scope.signature[:_LONGEST_SIGNATURE])
            number = self._around[number]
        return "\n".join(filter(None, [self._path, *lines]))


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
    """Yield a document's chunks in order, those of its further parts too."""
    offset = line = 0
    for part in chain([document], document.further):
        for chunk in _chunks_of_part(replace(part, title=document.title), settings):
            if offset:
                _shift(chunk, offset, line)
            yield chunk
        offset += len(part.text) + 1
        line += part.text.count("\n") + 1


def _chunks_of_part(document: Document, settings: ChunkSettings) -> Iterator[Chunk]:
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
