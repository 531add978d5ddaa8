"""Sheets of Excel's files from before 2007: what the cells show, and their comments."""

import struct
from collections.abc import Iterator
from functools import partial
from typing import Any

import xlrd
from xlrd.biffh import XL_CELL_BOOLEAN, XL_CELL_DATE, XL_CELL_ERROR, XL_CELL_NUMBER

from pgblend.cli.documents.document import Place
from pgblend.cli.documents.ingest_report import read_though_hidden
from pgblend.cli.documents.number_format import BUILT_IN, shown, shown_text
from pgblend.cli.documents.text_builder import Sheet, TextBuilder

_OBJECT_RECORD = 0x5D
# Comments, which are read, and the arrows beside cells that offer values.
_NOTES_AND_ARROWS = (0x19, 0x14)
_DRAWN = "drawn over the cells of an old file, which is not read"
_AS_XLSX = "save it as .xlsx"


def xls_sheets(data: bytes) -> Iterator[Sheet]:
    """Yield the sheets in order."""
    book = xlrd.open_workbook(file_contents=data, formatting_info=True, on_demand=True)
    for name in book.sheet_names():
        sheet = book.sheet_by_name(name)
        yield Sheet(name, _rows(book, sheet), partial(_add_beside, sheet))
        book.unload_sheet(name)
    yield Sheet("", iter(()), partial(_tell_drawings, bytes(book.mem)))


def _tell_drawings(stream: bytes, builder: TextBuilder) -> None:
    """Tell that there are charts, text boxes or pictures, each an object of a record of its own."""
    place = 0
    while place + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, place)
        if kind == _OBJECT_RECORD and size >= 6:
            (what,) = struct.unpack_from("<H", stream, place + 8)
            if what not in _NOTES_AND_ARROWS:
                builder.leave_out("charts, text boxes and pictures", _DRAWN, _AS_XLSX)
                return
        place += 4 + size


def _rows(book: Any, sheet: Any) -> Iterator[tuple[int, list[str]]]:
    first = min(map(_first_filled, sheet.get_rows()), default=0)
    for number, row in enumerate(sheet.get_rows(), start=1):
        yield number, [_shown(book, cell) for cell in row[first:]]


def _first_filled(row: Any) -> int:
    return next((place for place, cell in enumerate(row) if cell.value != ""), len(row))


def _shown(book: Any, cell: Any) -> str:
    if cell.ctype == XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, "#N/A"))
    key = book.xf_list[cell.xf_index].format_key if cell.xf_index is not None else 0
    known = book.format_map.get(key)
    code = BUILT_IN.get(key) or (known.format_str if known else "")
    if cell.ctype in (XL_CELL_NUMBER, XL_CELL_DATE):
        return shown(cell.value, code, bool(book.datemode))
    return shown_text(str(cell.value), code)


def _add_beside(sheet: Any, builder: TextBuilder) -> None:
    """Add comments, and tell what is hidden."""
    builder.warnings += read_though_hidden("sheets", [sheet.name] * bool(sheet.visibility))
    rows = sum(bool(info.hidden) for info in sheet.rowinfo_map.values())
    builder.warnings += read_though_hidden("rows", [f"{rows:,} of {sheet.name}"] * bool(rows))
    for (row, _), note in sorted(sheet.cell_note_map.items()):
        text = " ".join(note.text.split())
        builder.places.append(Place(builder.add(text), sheet=sheet.name, row=row + 1))
