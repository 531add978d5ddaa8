"""What goes from a parsing process to the database: a document's part as rows for COPY."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pgblend.cli.base.framed_json import encode_json
from pgblend.cli.documents.document import Document, storable_text
from pgblend.cli.documents.read_pictures import PICTURES_UNREAD
from pgblend.cli.documents.readers import EVERYBODY
from pgblend.cli.documents.sources import Candidate

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


def document_payload(
    candidate: Candidate,
    document: Document,
    language: str | None,
    chunks: list[dict[str, Any]],
    place: int,
    stored: Stored | None = None,
    date: datetime | None = None,
) -> bytes:
    """Write a document and its first chunks as the rows that are staged.

    `place` is the document's in its batch, `date` its own; without one the file's time stands.
    """
    about = {
        "place": place,
        "expected_hash": stored.content_hash if stored else None,
        "source_key": document.source_key,
        "title": document.title,
        "uri": document.uri,
        "metadata": encode_json(document.metadata),
        "language": language,
        "content_hash": unread_hash(candidate.content_hash)
        if PICTURES_UNREAD in document.metadata
        else candidate.content_hash,
        "media_type": document.media_type,
        "modified_at": (date or candidate.modified_at).isoformat(),
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
