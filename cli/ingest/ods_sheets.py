"""Sheets of OpenDocument files, whose cells have the text that they show."""

import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from pgblend.cli.ingest.document import ParseError, Place
from pgblend.cli.ingest.office_file import local_name, read_member
from pgblend.cli.ingest.sheet import Sheet
from pgblend.cli.ingest.text_builder import TextBuilder

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
# The last column and row that spreadsheet programs have.
_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576


def ods_sheets(archive: zipfile.ZipFile) -> Iterator[Sheet]:
    """Yield the sheets in order; each is read to its end before the next."""
    if b"encryption-data" in read_member(archive, "META-INF/manifest.xml"):
        raise ParseError("it is encrypted and needs a password")
    with archive.open("content.xml") as stream:
        events = etree.iterparse(
            stream,
            events=("start", "end"),
            tag=[f"{_TABLE}{name}" for name in ("table", "table-row", "shapes")],
            resolve_entities=False,
            no_network=True,
            huge_tree=False,
        )
        try:
            for event, element in events:
                if event == "start" and element.tag == f"{_TABLE}table":
                    reader = _SheetReader(element.get(f"{_TABLE}name", ""), events)
                    yield Sheet(reader.name, reader.rows(), reader.add_beside)
        except etree.XMLSyntaxError as error:
            raise ParseError(f"not valid XML: {error.msg}") from None


class _SheetReader:
    """Reads on up to the end of a table; what stands beside its cells is added after it."""

    def __init__(self, name: str, events: Any) -> None:
        self.name = name
        self._events = events
        self._beside: list[tuple[int, str]] = []

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each row's number and cells; rows and cells that are repeated come as often."""
        number = 1
        for event, element in self._events:
            if event == "start":
                continue
            if element.tag == f"{_TABLE}table":
                element.clear()
                return
            if element.tag == f"{_TABLE}shapes":
                self._note(1, element)
            else:
                cells = self._cells(element, number)
                times = _repeated(element, "rows", _LAST_ROW)
                for _ in range(times if cells else 0):
                    yield number, list(cells)
                    number += 1
                number += 0 if cells else times
            element.clear()

    def _cells(self, row: Any, number: int) -> list[str]:
        cells: list[str] = []
        empty = 0
        for cell in row.iterchildren(*_CELLS):
            times = _repeated(cell, "columns", _LAST_COLUMN)
            text = "\n".join(map(_paragraph, cell.iterchildren(f"{_TEXT}p")))
            for child in cell:
                if local_name(child) != "p":
                    self._note(number, child)
            if text:
                cells += [""] * empty + [text] * times
                empty = 0
            else:
                empty += times
        return cells[:_LAST_COLUMN]

    def _note(self, row: int, element: Any) -> None:
        """Note the words of a comment or a drawing."""
        text = "\n".join(map(_paragraph, element.iter(f"{_TEXT}p"))).strip()
        if text:
            self._beside.append((row, text))

    def add_beside(self, builder: TextBuilder) -> None:
        """Add comments and drawings."""
        for row, text in self._beside:
            builder.places.append(Place(builder.add(text), sheet=self.name, row=row))


def _paragraph(paragraph: Any) -> str:
    """Return what a paragraph shows; several spaces and line ends are elements of their own."""
    parts = [paragraph.text or ""]
    for child in paragraph:
        name = local_name(child)
        if name in ("s", "tab", "line-break"):
            parts.append("\n" if name == "line-break" else " ")
        elif name not in ("annotation", "p"):
            parts.append(_paragraph(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _repeated(element: Any, what: str, most: int) -> int:
    text = element.get(f"{_TABLE}number-{what}-repeated", "1")
    return min(int(text), most) if text.isdecimal() and len(text) < 10 else 1
