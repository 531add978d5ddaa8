"""Sheets of Excel's XML of 2003, which business programs export: what the cells show."""

import io
from collections.abc import Iterator, Mapping
from typing import Any

from lxml import etree

from pgblend.cli.documents.document import ParseError, Place
from pgblend.cli.documents.ingest_report import read_though_hidden
from pgblend.cli.documents.number_format import shown, shown_moment
from pgblend.cli.documents.text_builder import Sheet, TextBuilder
from pgblend.cli.documents.xlsx_sheets import CALCULATE, NO_VALUE, let_go

SPREADSHEET = "urn:schemas-microsoft-com:office:spreadsheet"
_SS = f"{{{SPREADSHEET}}}"
_STYLE, _SHEET, _ROW = (f"{_SS}{name}" for name in ("Style", "Worksheet", "Row"))
# Excel's names of number formats.
_NAMED = {
    "General Number": "General",
    "Currency": "#,##0.00",
    "Euro Currency": "[$\u20ac-2] #,##0.00",
    "Fixed": "0.00",
    "Standard": "#,##0.00",
    "Percent": "0.00%",
    "Scientific": "0.00E+00",
    "Short Date": "yyyy-mm-dd",
    "Medium Date": "d-mmm-yy",
    "Long Date": "yyyy-mm-dd",
    "General Date": "yyyy-mm-dd hh:mm",
    "Short Time": "hh:mm",
    "Medium Time": "hh:mm",
    "Long Time": "hh:mm:ss",
}
# The last column and row that spreadsheet programs have.
_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576


def xml_sheets(data: bytes) -> Iterator[Sheet]:
    """Yield the sheets in order, each read to its end before the next."""
    events = etree.iterparse(
        io.BytesIO(data),
        events=("start", "end"),
        tag=[_STYLE, _SHEET, _ROW, "{*}Visible"],
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
    )
    formats: dict[str, str] = {}
    try:
        for event, element in events:
            if event == "end" and element.tag == _STYLE:
                formats[element.get(f"{_SS}ID", "")] = _format(element, formats)
            elif event == "start" and element.tag == _SHEET:
                reader = _SheetReader(element.get(f"{_SS}Name", ""), events, formats)
                yield Sheet(reader.name, reader.rows(), reader.add_beside)
                if reader.fault:
                    return
    except etree.XMLSyntaxError as error:
        raise ParseError(f"not valid XML: {error.msg}") from None


def _format(style: Any, formats: Mapping[str, str]) -> str:
    """Return the number format of a style; one that has none has that of its parent."""
    own = style.find(f"{_SS}NumberFormat")
    stated = own.get(f"{_SS}Format", "") if own is not None else ""
    code = stated or formats.get(style.get(f"{_SS}Parent", ""), "")
    return _NAMED.get(code, code)


class _SheetReader:
    """Reads on up to the end of a sheet; comments and what is told of it come after its rows."""

    def __init__(self, name: str, events: Any, formats: Mapping[str, str]) -> None:
        self.name = name
        self.fault = ""
        self._events = events
        self._formats = formats
        self._is_hidden = False
        self._hidden_rows = 0
        self._lacks_values = False
        self._notes: list[tuple[int, str]] = []

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each row's number and cells; of broken XML those before the fault."""
        number = 0
        try:
            for event, element in self._events:
                if event == "start":
                    continue
                if element.tag == _SHEET:
                    element.clear()
                    return
                if element.tag != _ROW:
                    self._is_hidden = self._is_hidden or bool(element.text)
                    continue
                number = min(_stated(element, "Index") or number + 1, _LAST_ROW)
                self._hidden_rows += _stated(element, "Hidden")
                yield number, self._cells(element, number)
                let_go(element)
        except etree.XMLSyntaxError as error:
            self.fault = f"damaged, read up to the fault: {error.msg}"

    def _cells(self, row: Any, number: int) -> list[str]:
        cells: list[str] = []
        for cell in row.iterfind(f"{_SS}Cell"):
            place = min(_stated(cell, "Index") or len(cells) + 1, _LAST_COLUMN)
            cells += [""] * (place - 1 - len(cells))
            data = cell.find(f"{_SS}Data")
            style = cell.get(f"{_SS}StyleID") or row.get(f"{_SS}StyleID", "")
            cells.append("" if data is None else _shown(data, self._formats.get(style, "")))
            cells += [""] * min(_stated(cell, "MergeAcross"), _LAST_COLUMN)
            if data is None and cell.get(f"{_SS}Formula"):
                self._lacks_values = True
            for note in cell.iterfind(f"{_SS}Comment/{_SS}Data"):
                self._notes.append((number, " ".join("".join(note.itertext()).split())))
        return cells[:_LAST_COLUMN]

    def add_beside(self, builder: TextBuilder) -> None:
        """Add comments, and tell what is hidden, damaged or was never stored."""
        builder.warnings += read_though_hidden("sheets", [self.name] * self._is_hidden)
        rows = [f"{self._hidden_rows:,} of {self.name}"] * bool(self._hidden_rows)
        builder.warnings += read_though_hidden("rows", rows)
        if self._lacks_values:
            builder.leave_out(self.name, NO_VALUE, CALCULATE)
        if self.fault:
            builder.leave_out(self.name, self.fault, CALCULATE)
        for row, text in self._notes:
            builder.places.append(Place(builder.add(text), sheet=self.name, row=row))


def _stated(element: Any, name: str) -> int:
    text = element.get(f"{_SS}{name}", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _shown(data: Any, code: str) -> str:
    """Return what a cell shows: numbers and dates by their format."""
    text = "".join(data.itertext())
    kind = data.get(f"{_SS}Type", "String")
    if kind == "Boolean":
        return "TRUE" if text == "1" else "FALSE"
    if kind == "DateTime":
        return shown_moment(text, code)
    try:
        return shown(float(text), code, raw=text) if kind == "Number" else text
    except ValueError:
        return text
