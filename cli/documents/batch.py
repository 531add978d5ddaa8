"""What a run and its parsing processes share: rows for COPY, batches on disk, what is read."""

import hashlib
import os
import struct
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pgblend.cli.base.child_process import encode_json
from pgblend.cli.documents.document import Document, storable_text
from pgblend.cli.documents.read_pictures import PICTURES_UNREAD
from pgblend.cli.documents.readers import EVERYBODY
from pgblend.cli.documents.sources import Candidate

# Documents between parser and database: in memory while they are small, else in a file.

_MEMORY_BYTES = 8 << 20


class Batch:
    """The prepared documents of one batch, by their place in `labels` and source `keys`."""

    def __init__(self, labels: list[str], keys: Sequence[str] = ()) -> None:
        self.labels, self.keys = labels, keys
        self.chunks: dict[int, int] = {}
        self.tokens = self.pictures = 0
        self.samples: list[tuple[str, int]] = []
        self._parts: list[tuple[int, int, int]] = []
        self._spool = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115

    def add(self, place: int, part: int, payload: bytes) -> None:
        """Add a part of a document, as rows for COPY."""
        self._parts.append((place, part, self._spool.write(payload)))

    def finish(self, place: int, chunks: int, tokens: int) -> None:
        """Say that a document is complete."""
        self.chunks[place] = chunks
        self.tokens += tokens

    def sample(self, pictures: int, chunk: tuple[str, int] | None) -> None:
        """Count the pictures of a document that is not stored, and keep a chunk with its tokens."""
        self.pictures += pictures
        self.samples += [chunk] if chunk else []

    def drop(self, place: int) -> None:
        """Give up a document of which parts are there."""
        self.chunks.pop(place, None)

    def parts(self, only: Collection[int] | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Yield (place, part, payload) of the complete documents, or of some of them."""
        self._spool.seek(0)
        for place, part, size in self._parts:
            payload = self._spool.read(size)
            if place in self.chunks and (only is None or place in only):
                yield place, part, payload

    def close(self) -> None:
        """Give back the memory or the file."""
        self._spool.close()


# What a parsing process is at. It is a note that its run reads when it waits for long, or after a
# death.
#
# A message for each document would wake the run each time.

_HEAD = struct.Struct(">IdI")
_LONGEST_LABEL = 10_000


@dataclass(frozen=True)
class Position:
    """The place of a file in its task, the seconds of the processor that what is read may take.

    `name` is the label in UTF-8. Nobody but who needs it decodes it, since it may be read while it
    is written.
    """

    place: int
    seconds: float
    name: bytes

    @property
    def label(self) -> str:
        """What of the file is read."""
        return self.name.decode("utf-8", "surrogatepass")


def write_position(file: int, place: int, label: str, seconds: float) -> None:
    """Put a position in the place of the one before."""
    name = label[:_LONGEST_LABEL].encode("utf-8", "surrogatepass")
    os.pwrite(file, _HEAD.pack(place, seconds, len(name)) + name, 0)


def read_position(file: int) -> Position:
    """Return the last position."""
    data = os.pread(file, _HEAD.size + 4 * _LONGEST_LABEL, 0)
    place, seconds, length = _HEAD.unpack_from(data)
    return Position(place, seconds, data[_HEAD.size :][:length])


# Rows as COPY reads them: values with tabs between them, a row a line.


def copy_row(values: Sequence[str | int | Sequence[int] | None]) -> str:
    """Write a row: None is NULL, a list or tuple an array of whole numbers."""
    return "\t".join(map(_field, values)) + "\n"


def _field(value: str | int | Sequence[int] | None) -> str:
    if value is None:
        return r"\N"
    if isinstance(value, str):
        text = value.replace("\\", r"\\").replace("\t", r"\t")
        return text.replace("\n", r"\n").replace("\r", r"\r")
    if isinstance(value, int):
        return str(value)
    return f"{{{','.join(map(str, value))}}}"


# Columns of the tables in which they are staged (store.py).
DOCUMENT_COLUMNS = (
    *("place", "expected_hash", "source_key", "title", "uri", "metadata", "language"),
    *("content_hash", "media_type", "modified_at", "links", "readers"),
)
CHUNK_COLUMNS = (
    *("document", "content", "heading", "kind", "own_start", "start_offset", "end_offset"),
    *("start_line", "end_line", "pages", "token_count", "piece_tokens", "metadata", "context"),
    "own_headings",
)


@dataclass(frozen=True)
class Stored:
    """What the database has of a document that grows."""

    content_hash: str
    message_ids: list[str]

    def without_known(self, document: Document) -> Document:
        """Leave out the messages that are stored."""
        known = set(self.message_ids)
        messages = tuple(each for each in document.messages if each.id not in known)
        return replace(document, messages=messages, text="")


@dataclass
class Incoming:
    """A document on its way through the stages of a parsing process.

    `index` is its place in the batch, `place` in its file; `date` is its own, if it has one.
    """

    index: int
    place: int
    candidate: Candidate
    stored: Stored | None
    document: Document = field(default_factory=Document)
    language: str | None = None
    date: datetime | None = None


def document_payload(incoming: Incoming, document: Document, chunks: list[dict[str, Any]]) -> bytes:
    """Write a document and its first chunks as the rows that are staged."""
    candidate, place, stored = incoming.candidate, incoming.index, incoming.stored
    about = {
        "place": place,
        "expected_hash": stored.content_hash if stored else None,
        "source_key": document.source_key,
        "title": document.title,
        "uri": document.uri,
        "metadata": encode_json(document.metadata),
        "language": incoming.language,
        "content_hash": unread_hash(candidate.content_hash)
        if PICTURES_UNREAD in document.metadata
        else candidate.content_hash,
        "media_type": document.media_type,
        "modified_at": (incoming.date or candidate.modified_at).isoformat(),
        "links": encode_json(link_list(document)),
        "readers": readers_json(candidate.readers),
    }
    return document_row(about).encode() + chunks_payload(chunks, place)


def readers_json(readers: Sequence[str] | None) -> str | None:
    """Write readers as the database takes them: a JSON null is all who read the collection."""
    if readers is None:
        return None
    return "null" if EVERYBODY in readers else encode_json(sorted(readers))


def chunks_payload(chunks: list[dict[str, Any]], place: int) -> bytes:
    """Write chunks of a document as the rows that are staged."""
    return "".join(chunk_row(place, chunk) for chunk in chunks).encode()


def unread_hash(content_hash: str) -> str:
    """Hash a document whose pictures nothing could read: it is another once something can."""
    return hashlib.sha256(f"{content_hash} {PICTURES_UNREAD}".encode()).hexdigest()


def document_row(about: dict[str, Any]) -> str:
    """Write the row of a document from its columns; those that are not there are NULL."""
    return copy_row([about.get(column) for column in DOCUMENT_COLUMNS])


def chunk_row(place: int, chunk: dict[str, Any]) -> str:
    """Write the row of a chunk, which is as ingest_document takes it."""
    metadata = chunk.get("metadata")
    row = chunk | {"document": place, "metadata": metadata and encode_json(metadata)}
    return copy_row([row.get(column) for column in CHUNK_COLUMNS])


def link_list(document: Document) -> list[dict[str, Any]]:
    """Return a document's links as ingest_document takes them; one written twice comes once."""
    found: dict[tuple[str, str, str], int] = {}
    line, place = 1, 0
    for link in sorted(document.links, key=lambda link: link.offset):
        line += document.text.count("\n", place, link.offset)
        place = link.offset
        found.setdefault((link.target, link.kind, link.type), line)
    return [
        {"target": storable_text(target), "kind": kind, "type": edge_type, "line": line}
        for (target, kind, edge_type), line in found.items()
    ]
