"""Spreadsheets by sheet and row."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, time
from functools import partial
from typing import Any
from zipfile import is_zipfile

from lxml import etree
from python_calamine import CalamineError, CalamineWorkbook

from pgblend.cli.documents.document import (
    SAVE_IT,
    Document,
    LeftOut,
    ParseError,
    Place,
    stated_title,
)
from pgblend.cli.documents.ingest_report import read_though_hidden
from pgblend.cli.documents.number_format import general
from pgblend.cli.documents.office_file import (
    OLE_MAGIC,
    BrokenArchiveError,
    local_name,
    open_archive,
    open_package,
    read_member,
)
from pgblend.cli.documents.parse_opendocument import (
    HREF,
    NO_OBJECT,
    beside_content,
    metadata_of,
    object_words,
    running_lines,
)
from pgblend.cli.documents.text_builder import Sheet, TextBuilder, table_document, table_parts
from pgblend.cli.documents.xlsx_sheets import CALCULATE, MAIN, let_go, xlsx_sheets
from pgblend.cli.documents.xml_sheets import SPREADSHEET, xml_sheets

# Sheets of OpenDocument files, whose cells have the text that they show.

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
# How values are stored, the fullest first.
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}T")
_DURATION = re.compile(r"PT(\d+)H(\d+)M(\d+)(?:[.,]\d+)?S")
_OF_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_STYLE, _STYLE_NAME = f"{_OF_STYLE}style", f"{_OF_STYLE}name"
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
# The last column and row that spreadsheet programs have.
_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576


def ods_sheets(archive: zipfile.ZipFile, lines: Sequence[str] = ()) -> Iterator[Sheet]:
    """Yield the sheets in order, each read to its end before the next; then `lines` of pages."""
    if b"encryption-data" in read_member(archive, "META-INF/manifest.xml"):
        raise ParseError("it is encrypted and needs a password")
    with archive.open("content.xml") as stream:
        events = etree.iterparse(
            stream,
            events=("start", "end"),
            tag=[f"{_TABLE}{name}" for name in ("table", "table-row", "shapes")] + [_STYLE],
            resolve_entities=False,
            no_network=True,
            huge_tree=False,
        )
        hidden: set[str | None] = set()
        try:
            for event, element in events:
                if event == "end" and element.tag == _STYLE and _hides(element):
                    hidden.add(element.get(_STYLE_NAME))
                elif event == "start" and element.tag == f"{_TABLE}table":
                    reader = _TableReader(element.get(f"{_TABLE}name", ""), events, archive)
                    reader.is_hidden = element.get(f"{_TABLE}style-name") in hidden
                    yield Sheet(reader.name, reader.rows(), reader.add_beside)
                    if reader.fault:
                        break
        except etree.XMLSyntaxError as error:
            raise ParseError(f"not valid XML: {error.msg}") from None
    yield Sheet("", iter(()), partial(_add_lines, lines))


def _hides(style: Any) -> bool:
    """Whether a style hides the sheets that have it."""
    return any(each.get(f"{_TABLE}display") == "false" for each in style)


def _add_lines(lines: Sequence[str], builder: TextBuilder) -> None:
    builder.add("\n".join(lines))


class _TableReader:
    """Reads on up to the end of a table; what stands beside its cells is added after it."""

    def __init__(self, name: str, events: Any, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._objects: list[tuple[int, str]] = []
        self.name = name
        self.is_hidden = False
        self.fault = ""
        self._hidden_rows = 0
        self._events = events
        self._beside: list[tuple[int, str]] = []

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each row's number and cells; rows and cells that are repeated come as often.

        Of broken XML the rows before the fault are read.
        """
        try:
            yield from self._rows()
        except etree.XMLSyntaxError as error:
            self.fault = f"damaged, read up to the fault: {error.msg}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
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
                if cells and element.get(f"{_TABLE}visibility", "visible") != "visible":
                    self._hidden_rows += times
                for _ in range(times if cells else 0):
                    yield number, list(cells)
                    number += 1
                number += 0 if cells else times
            let_go(element)

    def _cells(self, row: Any, number: int) -> list[str]:
        cells: list[str] = []
        empty = 0
        for cell in row.iterchildren(*_CELLS):
            times = _repeated(cell, "columns", _LAST_COLUMN)
            shown = [_paragraph(each) for each in cell.iterchildren(f"{_TEXT}p")]
            text = "\n".join(shown) if shown else _stored(cell)
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
        names = (posixpath.normpath(each.get(HREF, ".")) for each in element.iter("{*}object"))
        self._objects += [(row, name) for name in names if name != "."]

    def add_beside(self, builder: TextBuilder) -> None:
        """Add comments and drawings, and tell what is hidden or damaged."""
        builder.warnings += read_though_hidden("sheets", [self.name] * self.is_hidden)
        if self.fault:
            builder.leave_out(self.name, self.fault, CALCULATE)
        rows = [f"{self._hidden_rows:,} of {self.name}"] * bool(self._hidden_rows)
        builder.warnings += read_though_hidden("rows", rows)
        for row, text in self._beside:
            builder.places.append(Place(builder.add(text), sheet=self.name, row=row))
        for row, name in self._objects:
            try:
                start = builder.add(object_words(self._archive, name))
            except ParseError:
                builder.leave_out(name, NO_OBJECT, SAVE_IT)
            else:
                builder.places.append(Place(start, sheet=self.name, row=row))


def _stored(cell: Any) -> str:
    """Return a cell's value where its program wrote no text beside it."""
    values = (cell.get(f"{_OFFICE}{name}", "") for name in _VALUES)
    text = next(filter(None, values), "")
    if match := _DURATION.fullmatch(text):
        return ":".join(match.groups())
    return text.removesuffix("T00:00:00").replace("T", " ") if _DATE.match(text) else text


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


_ZIP_MAGIC = b"PK"
# Of Excel 2 to 4, whose files are no containers.
_OLDEST = (b"\x09\x00", b"\x09\x02", b"\x09\x04", b"\x09\x08")
_HEAD_BYTES = 8192
_BINARY = "xl/workbook.bin"
_BINARY_FORMATS = "numbers stand as they are stored, without percent, currency and leading zeros"
_AS_XLSX = "save it as .xlsx"
_ODS = "content.xml"


def parse_spreadsheet(data: bytes) -> Document:
    """Read XLSX, XLSB, XLS or ODS: what its cells showed when it was saved."""
    return table_document(_parts(data))


def _parts(data: bytes) -> Iterator[Document]:
    if data.startswith((OLE_MAGIC, *_OLDEST)):
        yield from table_parts(_old_sheets(data))
        return
    if SPREADSHEET.encode() in data[:_HEAD_BYTES]:
        yield from table_parts(xml_sheets(data))
        return
    # Before an archive may stand what does not belong to it.
    if not data.startswith(_ZIP_MAGIC) and not is_zipfile(io.BytesIO(data)):
        raise ParseError("no readable spreadsheet: it begins as none does")
    names = _members(data)
    if _ODS in names:
        yield from _ods_parts(data)
    elif _BINARY in names:
        told = LeftOut("formats of numbers", _BINARY_FORMATS, _AS_XLSX)
        for part in table_parts(_calamine_sheets(data)):
            yield replace(part, left_out=(*part.left_out, told))
    else:
        yield from _package_parts(data)


def _ods_parts(data: bytes) -> Iterator[Document]:
    with open_archive(data) as archive:
        beside = beside_content(archive)
        lines = [line for part in beside for line in running_lines(part)]
        about = metadata_of(beside)
        title = stated_title(about.pop("title", ""))
        for part in table_parts(ods_sheets(archive, lines)):
            yield replace(part, title=title, metadata=dict(about))


def _members(data: bytes) -> list[str]:
    """Return the names in an archive; none where perhaps only its end is broken."""
    try:
        with open_archive(data) as archive:
            return archive.namelist()
    except BrokenArchiveError:
        return []


def _package_parts(data: bytes) -> Iterator[Document]:
    with open_package(data, MAIN) as package:
        properties = package.properties()
        title = stated_title(properties.pop("title", ""))
        told = 0
        for part in table_parts(xlsx_sheets(package)):
            found = package.left_out[told:]
            told = len(package.left_out)
            left_out = (*found, *part.left_out)
            yield replace(part, title=title, metadata=dict(properties), left_out=left_out)


def _old_sheets(data: bytes) -> Iterator[Sheet]:
    """Read XLS; what the library for number formats stumbles over is read without them."""
    import xlrd  # for old files alone
    from xlrd.compdoc import CompDocError

    from pgblend.cli.documents.xls_sheets import xls_sheets

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
            rows = ([_value(cell) for cell in row] for row in sheet.iter_rows())
            yield Sheet(name, enumerate(rows, first_row))
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
