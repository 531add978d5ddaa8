"""Sheets of Excel's XML of 2003, which business programs export: what the cells show."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.documents.document import Place
from pgblend.cli.documents.number_format import shown, shown_moment
from pgblend.cli.documents.office_file import local_name, parse_xml
from pgblend.cli.documents.report import read_though_hidden
from pgblend.cli.documents.text_builder import Sheet, TextBuilder
from pgblend.cli.documents.xlsx_sheets import CALCULATE, NO_VALUE

SPREADSHEET = "urn:schemas-microsoft-com:office:spreadsheet"
_SS = f"{{{SPREADSHEET}}}"
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
    """Yield the sheets in order; ParseError where the XML is not valid."""
    root = parse_xml(data)
    formats = _formats(root)
    for sheet in root.iter(f"{_SS}Worksheet"):
        name = sheet.get(f"{_SS}Name", "")
        is_hidden = any(local_name(each) == "Visible" and each.text for each in sheet.iter("{*}*"))
        beside = _Beside(name, is_hidden)
        yield Sheet(name, _rows(sheet, formats, beside), beside.add)


@dataclass
class _Beside:
    """What stands beside the cells of a sheet: comments, and what is told of it."""

    name: str
    is_hidden: bool
    notes: list[tuple[int, str]] = field(default_factory=list)
    lacks_values: bool = False

    def add(self, builder: TextBuilder) -> None:
        """Add comments, and tell what is hidden or was never stored."""
        builder.warnings += read_though_hidden("sheets", [self.name] * self.is_hidden)
        if self.lacks_values:
            builder.leave_out(self.name, NO_VALUE, CALCULATE)
        for row, text in self.notes:
            builder.places.append(Place(builder.add(text), sheet=self.name, row=row))


def _formats(root: Any) -> dict[str, str]:
    """Return the number format of each style; one that has none has that of its parent."""
    found: dict[str, str] = {}
    for style in root.iter(f"{_SS}Style"):
        own = style.find(f"{_SS}NumberFormat")
        stated = own.get(f"{_SS}Format", "") if own is not None else ""
        code = stated or found.get(style.get(f"{_SS}Parent", ""), "")
        found[style.get(f"{_SS}ID", "")] = _NAMED.get(code, code)
    return found


def _rows(sheet: Any, formats: dict[str, str], beside: _Beside) -> Iterator[tuple[int, list[str]]]:
    number = 0
    for row in sheet.iterfind(f"{_SS}Table/{_SS}Row"):
        number = min(_stated(row, "Index") or number + 1, _LAST_ROW)
        cells: list[str] = []
        for cell in row.iterfind(f"{_SS}Cell"):
            place = min(_stated(cell, "Index") or len(cells) + 1, _LAST_COLUMN)
            cells += [""] * (place - 1 - len(cells))
            data = cell.find(f"{_SS}Data")
            style = cell.get(f"{_SS}StyleID") or row.get(f"{_SS}StyleID", "")
            cells.append("" if data is None else _shown(data, formats.get(style, "")))
            cells += [""] * min(_stated(cell, "MergeAcross"), _LAST_COLUMN)
            if data is None and cell.get(f"{_SS}Formula"):
                beside.lacks_values = True
            for note in cell.iterfind(f"{_SS}Comment/{_SS}Data"):
                beside.notes.append((number, " ".join("".join(note.itertext()).split())))
        yield number, cells[:_LAST_COLUMN]


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
