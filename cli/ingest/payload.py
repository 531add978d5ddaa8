"""What goes from a parsing process to the database: a document's part as JSON."""

from dataclasses import dataclass, replace
from typing import Any

from pgblend.cli.ingest.document import Document, storable_text
from pgblend.cli.ingest.frames import encode_json
from pgblend.cli.ingest.sources import Candidate


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
    part: int,
    stored: Stored | None = None,
) -> bytes:
    """Write a part as the JSON that is staged; the first has what is known of the document."""
    about: dict[str, Any] = {"chunks": chunks}
    if part == 0:
        about |= {
            "expected_hash": stored.content_hash if stored else None,
            "source_key": document.source_key,
            # Chunks and hash are given, so the text itself is not needed once more.
            "content": "",
            "title": document.title,
            "uri": document.uri,
            "metadata": document.metadata,
            "language": language,
            "content_hash": candidate.content_hash,
            "media_type": document.media_type,
            "modified_at": candidate.modified_at.isoformat(),
            "links": link_list(document),
        }
    return encode_json(about).encode()


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
