"""Spreadsheets by sheet and row."""

import io
from datetime import datetime, time
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook

from pgblend.cli.ingest.document import Document, Heading, ParseError, Place, storable_text
from pgblend.cli.ingest.office_file import OLE_MAGIC
from pgblend.cli.ingest.sheet_pictures import sheet_pictures
from pgblend.cli.ingest.text_builder import TextBuilder
from pgblend.cli.ingest.write_rows import table_document, write_rows

_ZIP_MAGIC = b"PK"


def parse_spreadsheet(data: bytes) -> Document:
    """Read XLSX, XLSB, XLS or ODS: the values that its cells showed when it was saved."""
    pictures = sheet_pictures(data) if data.startswith(_ZIP_MAGIC) else {}
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        builder = TextBuilder()
        for name in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(name)
            first_row = sheet.start[0] + 1 if sheet.start else 1
            rows = sheet.to_python(skip_empty_area=True)
            numbered = enumerate(([_value(cell) for cell in row] for row in rows), first_row)
            write_rows(builder, numbered, name)
            _add_pictures(builder, name, pictures.get(name, []))
    except (CalamineError, ValueError, OSError) as error:
        raise ParseError(_reason(str(error), data)) from None
    return table_document(builder)


def _add_pictures(builder: TextBuilder, sheet: str, pictures: list[tuple[int, bytes]]) -> None:
    """Note a sheet's pictures after its rows, so that they part no table.

    A sheet of pictures alone is named in the text.
    """
    before = len(builder.pictures)
    name = storable_text(sheet)
    if pictures and (not builder.places or builder.places[-1].sheet != name):
        start = builder.add(name)
        builder.breaks.append(start)
        builder.headings.append(Heading(start, 1, name))
        builder.places.append(Place(start, sheet=name, row=pictures[0][0]))
    for _, data in pictures:
        builder.add_picture(data)
    if len(builder.pictures) > before:
        builder.places.append(Place(builder.length, sheet=name, row=pictures[0][0]))


def _value(cell: Any) -> str:
    """Write a cell as a reader expects it: whole numbers without a point, dates without a zero."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    return str(cell)


def _reason(message: str, data: bytes) -> str:
    if "password" in message.lower():
        return "it is encrypted and needs a password"
    if data.startswith(OLE_MAGIC) and "detect file format" in message:
        return "it is encrypted with a password, or no spreadsheet"
    return f"no readable spreadsheet: {' '.join(message.split())}"
