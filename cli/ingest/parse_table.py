"""Spreadsheets by sheet and row, CSV by row: a row a line, column names as the chunks' heading."""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import datetime, time
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document, Heading, ParseError, Place, storable_text
from pgblend.cli.ingest.office_file import OLE_MAGIC
from pgblend.cli.ingest.sheet_pictures import sheet_pictures
from pgblend.cli.ingest.text_builder import TextBuilder, cell_text, row_text

_DELIMITERS = ",;\t|"
_SNIFFED_LINES = 20
_LONGEST_HEADER = 300
_SEPARATOR_LINE = "sep="
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
            _write_rows(builder, numbered, name)
            _add_pictures(builder, name, pictures.get(name, []))
    except (CalamineError, ValueError, OSError) as error:
        raise ParseError(_reason(str(error), data)) from None
    return _document(builder)


def parse_csv(data: bytes) -> Document:
    """Read CSV or TSV, also with semicolons or bars; a quoted cell may span lines."""
    source = decode(data)
    first, _, rest = source.partition("\n")
    if first.lower().startswith(_SEPARATOR_LINE) and len(first) == len(_SEPARATOR_LINE) + 1:
        delimiter, source, first_row = first[-1], rest, 2
    else:
        delimiter, first_row = _find_delimiter(source), 1
    csv.field_size_limit(max(len(source), csv.field_size_limit()))
    builder = TextBuilder()
    reader = csv.reader(io.StringIO(source, newline=""), delimiter=delimiter)
    try:
        _write_rows(builder, enumerate(reader, first_row), None)
    except csv.Error as error:
        raise ParseError(f"not valid CSV: {error} (line {reader.line_num})") from None
    return _document(builder)


def _document(builder: TextBuilder) -> Document:
    return Document(
        text=builder.text(),
        headings=tuple(builder.headings),
        places=tuple(builder.places),
        breaks=tuple(builder.breaks),
        pictures=tuple(builder.pictures),
        whole_lines=True,
    )


def _write_rows(
    builder: TextBuilder, rows: Iterable[tuple[int, list[str]]], sheet: str | None
) -> None:
    """Write a sheet; a first row of texts only is taken for the names of the columns."""
    name = storable_text(sheet) if sheet else None
    header: list[str] | None = None
    named = False
    for number, row in rows:
        cells = [cell_text(cell) for cell in row]
        line = row_text(cells)
        if not line.strip():
            continue
        start = builder.add(line, "\n" if header is not None else "\n\n")
        builder.places.append(Place(start, sheet=name, row=number))
        if header is None:
            header = cells
            builder.breaks.append(start)
            if name:
                builder.headings.append(Heading(start, 1, name))
        elif not named:
            named = True
            if _is_header(header):
                names = storable_text(row_text(header))[:_LONGEST_HEADER]
                builder.headings.append(Heading(start, 2, names))


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


def _is_header(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return len(filled) > 1 and not any(_is_number(cell) for cell in filled)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _find_delimiter(source: str) -> str:
    """Choose the delimiter that divides the first lines most evenly, then most often."""
    lines = list(_first_lines(source))

    def evenness(delimiter: str) -> tuple[int, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        usual = max(set(counts), key=counts.count) if counts else 1
        return (counts.count(usual) if usual > 1 else 0, usual)

    try:
        return max(_DELIMITERS, key=evenness)
    except csv.Error:
        return ","


def _first_lines(source: str) -> Iterator[str]:
    start = 0
    for _ in range(_SNIFFED_LINES):
        end = source.find("\n", start)
        if end < 0:
            yield source[start:]
            return
        yield source[start : end + 1]
        start = end + 1


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
