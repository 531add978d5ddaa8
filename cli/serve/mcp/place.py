"""Places in documents, as answers show them and `open` takes them.

#00002a is a document, #00002a:12-40 some lines of it, and #00002a:c17 it from chunk 17 on; 42 is
the same as #00002a.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pgblend.cli.serve.problems import Problem

_SHAPE = re.compile(
    r"(#[0-9a-f]{6,15}|[0-9]{1,18})(:([0-9]{1,9}(-[0-9]{1,9})?|c[0-9]{1,18}))?", re.ASCII
)


@dataclass(frozen=True)
class Place:
    """A document, and where in it: lines ("12-40", or "12"), or the chunk to begin with."""

    document_id: int
    lines: str | None = None
    chunk_id: int | None = None

    def __str__(self) -> str:
        """Write it as an id."""
        if self.lines:
            return f"{docid(self.document_id)}:{self.lines}"
        return docid(self.document_id) + (f":c{self.chunk_id}" if self.chunk_id else "")


def docid(document_id: int) -> str:
    """Write a document's id as citations have it."""
    return f"#{document_id:06x}"


def place_of(text: str) -> Place:
    """Return the place that an id names; a Problem where it is none."""
    found = _SHAPE.fullmatch(text)
    if not found:
        detail = f"{text[:40]!r} is no id of a document or a place in one"
        hint = "take an id of an answer, such as #00002a, #00002a:12-40 or #00002a:c17"
        raise Problem(400, "invalid-request", detail, hint=hint)
    name, where = found[1], found[3] or ""
    document_id = int(name[1:], 16) if name.startswith("#") else int(name)
    if where.startswith("c"):
        return Place(document_id, chunk_id=int(where[1:]))
    return Place(document_id, lines=where or None)


def place_of_lines(document_id: int, spans: Sequence[Sequence[int | None]], chunk_id: int) -> str:
    """Write the id of lines, from the first span's to the last's; of a chunk where none are."""
    if not spans or spans[0][0] is None:
        return str(Place(document_id, chunk_id=chunk_id))
    first, last = spans[0][0], spans[-1][1] or spans[-1][0]
    return str(Place(document_id, lines=str(first) if first == last else f"{first}-{last}"))
