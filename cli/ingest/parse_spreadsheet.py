"""Spreadsheets by sheet and row."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, time
from typing import Any
from zipfile import is_zipfile

from python_calamine import CalamineError, CalamineWorkbook

from pgblend.cli.ingest.document import (
    Document,
    Heading,
    LeftOut,
    ParseError,
    Place,
    storable_text,
)
from pgblend.cli.ingest.number_format import general
from pgblend.cli.ingest.ods_sheets import ods_sheets
from pgblend.cli.ingest.office_file import OLE_MAGIC, BrokenArchiveError, open_archive
from pgblend.cli.ingest.office_package import open_package
from pgblend.cli.ingest.sheet import Sheet
from pgblend.cli.ingest.text_builder import TextBuilder
from pgblend.cli.ingest.write_rows import table_document, write_rows
from pgblend.cli.ingest.xlsx_sheets import MAIN, xlsx_sheets

_ZIP_MAGIC = b"PK"
# Of Excel 2 to 4, whose files are no containers.
_OLDEST = (b"\x09\x00", b"\x09\x02", b"\x09\x04", b"\x09\x08")
_BINARY = "xl/workbook.bin"
_BINARY_FORMATS = "numbers stand as they are stored, without percent, currency and leading zeros"
_SAVE_IT = "save it as .xlsx"
_ODS = "content.xml"


def parse_spreadsheet(data: bytes) -> Document:
    """Read XLSX, XLSB, XLS or ODS: what its cells showed when it was saved."""
    if data.startswith((OLE_MAGIC, *_OLDEST)):
        return _written(_old_sheets(data))
    # Before an archive may stand what does not belong to it.
    if not data.startswith(_ZIP_MAGIC) and not is_zipfile(io.BytesIO(data)):
        raise ParseError("no readable spreadsheet: it begins as none does")
    try:
        with open_archive(data) as archive:
            names = archive.namelist()
            if _ODS in names:
                return _written(ods_sheets(archive))
            if _BINARY in names:
                document = _written(_calamine_sheets(data))
                told = LeftOut("formats of numbers", _BINARY_FORMATS, _SAVE_IT)
                return replace(document, left_out=(*document.left_out, told))
    except BrokenArchiveError:
        pass  # perhaps only its end is
    with open_package(data, MAIN) as package:
        document = _written(xlsx_sheets(package))
        properties = package.properties()
    properties.pop("title", "")
    left_out = (*package.left_out, *document.left_out)
    return replace(document, metadata=dict(properties), left_out=left_out)


def _written(sheets: Iterable[Sheet]) -> Document:
    builder = TextBuilder()
    for sheet in sheets:
        before = builder.length
        write_rows(builder, sheet.rows, sheet.name)
        if builder.length == before:
            _add_name(builder, sheet)
        sheet.add_beside(builder)
    document = table_document(builder)
    return replace(document, left_out=tuple(builder.left_out))


def _add_name(builder: TextBuilder, sheet: Sheet) -> None:
    """Name a sheet without rows, where there is something beside its cells."""
    beside = TextBuilder()
    sheet.add_beside(beside)
    if beside.length or beside.pictures:
        name = storable_text(sheet.name)
        start = builder.add(name)
        builder.breaks.append(start)
        builder.headings.append(Heading(start, 1, name))
        row = beside.places[0].row if beside.places else 1
        builder.places.append(Place(start, sheet=name, row=row))


def _old_sheets(data: bytes) -> Iterator[Sheet]:
    """Read XLS; what the library for number formats stumbles over is read without them."""
    import xlrd  # for old files alone
    from xlrd.compdoc import CompDocError

    from pgblend.cli.ingest.xls_sheets import xls_sheets

    try:
        yield from xls_sheets(data)
    except (xlrd.XLRDError, CompDocError) as error:
        raise ParseError(_reason(str(error), data)) from None


def _calamine_sheets(data: bytes) -> Iterator[Sheet]:
    """Read what has no other reader: values without their number formats."""
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        for name in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(name)
            first_row = sheet.start[0] + 1 if sheet.start else 1
            rows = sheet.to_python(skip_empty_area=True)
            yield Sheet(
                name, enumerate(([_value(cell) for cell in row] for row in rows), first_row)
            )
    except (CalamineError, ValueError, OSError) as error:
        raise ParseError(_reason(str(error), data)) from None


def _value(cell: Any) -> str:
    """Write a value: whole numbers without a point, dates without a zero time."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return general(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    return str(cell)


def _reason(message: str, data: bytes) -> str:
    if "password" in message.lower() or "encrypted" in message.lower():
        return "it is encrypted and needs a password"
    if data.startswith(OLE_MAGIC) and ("detect file format" in message or "workbook" in message):
        return "it is encrypted with a password, or no spreadsheet"
    return f"no readable spreadsheet: {' '.join(message.split())}"
