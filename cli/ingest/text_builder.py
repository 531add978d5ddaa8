"""Put a document's text together piece by piece, noting where headings, pages and rows begin."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from pgblend.cli.extras import how_to_install, missing
from pgblend.cli.ingest.document import (
    Heading,
    LeftOut,
    ParseError,
    Picture,
    Place,
    Table,
    storable_text,
)
from pgblend.cli.ingest.tables import TableRows


@dataclass
class TextBuilder:
    """Collects blocks of text; offsets are those of the text that `text()` returns."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    headings: list[Heading] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)
    _asked: set[str] = field(default_factory=set)

    def add(self, text: str, gap: str = "\n\n") -> int:
        """Add a block after a gap; return its offset. Blank blocks are left out."""
        text = storable_text(text)
        if not text.strip():
            return self.length
        if self.parts:
            self.parts.append(gap)
            self.length += len(gap)
        offset = self.length
        self.parts.append(text)
        self.length += len(text)
        return offset

    def add_heading(self, text: str, level: int) -> None:
        """Add a heading as a block of its own."""
        text = " ".join(text.split())
        if text:
            self.headings.append(Heading(self.add(text), level, storable_text(text)))

    def add_table(self, rows: TableRows) -> None:
        """Note the table whose rows were added last."""
        if table := rows.table(self.length):
            self.tables.append(table)

    def start_page(self, number: int) -> None:
        """Say that what is added from now on stands on a page."""
        self.places.append(Place(self.length, page=number))

    def leave_out(self, part: str, reason: str, mend: str) -> None:
        """Note a part of the source that is not read, for the report."""
        self.left_out.append(LeftOut(storable_text(part), reason, mend))

    def asks_first(self, name: str) -> bool:
        """Whether a picture of this name is asked for the first time: it need be read once."""
        is_new = name not in self._asked
        self._asked.add(name)
        return is_new

    def add_picture(
        self, data: bytes, offset: int | None = None, read: Callable[[], bytes] | None = None
    ) -> None:
        """Note a picture that stands here, or at `offset`; `read` gives its bytes once more.

        Each comes once, and none that is too small to say much.
        """
        digest = hashlib.sha256(data).digest()
        if digest in self._seen:
            return
        self._seen.add(digest)
        page = self.places[-1].page if self.places else None
        place = self.length if offset is None else offset
        if missing("documents"):
            self.pictures.append(Picture(place, _cannot_be_opened, page, is_page=False))
            return
        from pgblend.cli.ingest.picture import embedded_picture  # Pillow takes its time

        self.pictures += embedded_picture(data, place, page, read)

    def text(self) -> str:
        """Return everything added."""
        return "".join(self.parts)


def _cannot_be_opened(side: int) -> bytes:
    raise ParseError(f"pictures are read with {how_to_install('documents')}")


def cell_text(text: str) -> str:
    """Write a table cell on one line."""
    return " ".join(text.split())


def row_text(cells: list[str]) -> str:
    """Write a table row as one line; empty cells at its end are left out."""
    while cells and not cells[-1]:
        cells = cells[:-1]
    return " | ".join(cells)
