"""Sheets of Excel's XML files: what the cells show, and what is written beside them."""

import re
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree

from pgblend.cli.documents.document import FILE_WITHIN, SAVE_IT, ParseError, Place
from pgblend.cli.documents.drawing_text import (
    A,
    R,
    add_drawings,
    description,
    shape_text,
    unescaped,
)
from pgblend.cli.documents.formula import raised
from pgblend.cli.documents.ingest_report import read_though_hidden
from pgblend.cli.documents.number_format import BUILT_IN, shown, shown_moment, shown_text
from pgblend.cli.documents.office_file import Package, local_name
from pgblend.cli.documents.text_builder import Sheet, TextBuilder

_BESIDE = ("drawing", "legacyDrawing", "headerFooter", "dataValidation", "oleObject")
MAIN = "xl/workbook.xml"
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_PRINT_CODE = re.compile(r'&(?:[LCRPNDTFAGZBIUESXY]|"[^"]*"|\d+|K[0-9A-F]{6}|&)')
_LETTER = re.compile(r"[^\W\d_]{2}")
_TRUTH = {"1": "TRUE", "0": "FALSE"}
_ON = ("1", "true")
_NAMED_CELLS = 3
NO_VALUE = "formulas whose values were never stored"
BROKEN = (etree.XMLSyntaxError, zipfile.BadZipFile, zlib.error, EOFError)
CALCULATE = "open the file in a spreadsheet program and save it anew"


def xlsx_sheets(package: Package) -> Iterator[Sheet]:
    """Yield the sheets of a workbook in order."""
    main = package.main(MAIN)
    root = package.xml(main)
    if root is None:
        raise ParseError(f"no readable workbook: {main!r} has nothing in it")
    book = _Book(package, main, root)
    relations = package.relations(main)
    for sheet in root.iter(f"{_S}sheet"):
        relation = relations.get(sheet.get(f"{R}id", ""))
        name = sheet.get("name", "")
        if relation is None or not package.has(relation.part):
            package.leave_out(f"sheet {name!r}", "missing in the file")
        else:
            reader = _XlsxReader(book, relation.part, name)
            reader.is_hidden = sheet.get("state", "visible") != "visible"
            yield Sheet(name, reader.rows(), reader.add_beside)


class _Book:
    """What all sheets share: texts, number formats, the day from which dates count."""

    def __init__(self, package: Package, main: str, root: Any) -> None:
        self.package = package
        properties = root.find(f"{_S}workbookPr")
        stated = "" if properties is None else properties.get("date1904", "")
        self.from_1904 = stated in ("1", "true", "on")
        for each in package.relations(main).values():
            if each.kind in ("sharedStrings", "styles") and not package.has(each.part):
                package.leave_out(each.part, "missing in the file")
        self.codes = self._codes(main)
        self.texts = _Texts(
            text
            for each in package.related(main, "sharedStrings")
            for text in _shared_texts(package, each.part)
        )

    def _codes(self, main: str) -> list[str]:
        """Return the number format of each cell style."""
        root = next((self.package.xml(e.part) for e in self.package.related(main, "styles")), None)
        if root is None:
            return []
        own = {
            each.get("numFmtId", ""): each.get("formatCode", "")
            for each in root.iterfind(f"{_S}numFmts/{_S}numFmt")
        }
        names = [each.get("numFmtId", "0") for each in root.iterfind(f"{_S}cellXfs/{_S}xf")]
        built_in = {str(number): code for number, code in BUILT_IN.items()}
        return [own.get(name, built_in.get(name, "")) for name in names]


class _Texts:
    """Texts by number, in one piece of memory: a list of a million takes several times as much."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._data = bytearray()
        self._ends = array("Q", [0])
        for text in texts:
            self._data += text.encode()
            self._ends.append(len(self._data))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> str:
        return self._data[self._ends[place] : self._ends[place + 1]].decode()


class _XlsxReader:
    """Reads a sheet's part once, row by row; what is beside the cells is known after the last."""

    def __init__(self, book: _Book, part: str, name: str) -> None:
        self._book = book
        self._package = book.package
        self._part = part
        self._name = name
        self.is_hidden = False
        self._hidden_rows = 0
        self._hidden_columns: list[str] = []
        self._first_column = 0
        self._without_value: list[str] = []
        self._without_values = 0
        self._print_lines: list[str] = []
        self._drawings: list[str] = []
        self._old_drawings: list[str] = []
        self._embedded: list[str] = []
        self._hints: list[tuple[int, str]] = []

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each row's number and cells, from the sheet's first column on."""
        number = 0
        tags = [f"{{*}}{name}" for name in ("dimension", "col", "row", *_BESIDE)]
        with self._package.open(self._part) as stream:
            elements = _streamed(stream, tags)
            try:
                for _, element in elements:
                    name = local_name(element)
                    if name == "row":
                        number = _whole(element.get("r"), number + 1)
                        cells = self._cells(element, number)
                        self._hidden_rows += any(cells) and element.get("hidden") in _ON
                        yield number, cells
                        let_go(element)
                    else:
                        self._note(name, element)
                _tell_faults(self._package, self._part, elements)
            except BROKEN as error:
                self._package.leave_out(
                    self._part, f"damaged after row {number:,}, read up to there: {error}"
                )

    def _note(self, name: str, element: Any) -> None:
        if name == "dimension":
            match = _REFERENCE.match(element.get("ref", ""))
            self._first_column = _column(match[1]) if match else 0
        elif name == "col":
            if element.get("hidden") in _ON:
                first, last = (_whole(element.get(each), 1) for each in ("min", "max"))
                letters = sorted({_letters(first - 1), _letters(last - 1)}, key=_column)
                self._hidden_columns.append(" to ".join(letters))
        elif name == "drawing":
            self._drawings.append(element.get(f"{R}id", "") or _any_id(element))
        elif name == "legacyDrawing":
            self._old_drawings.append(element.get(f"{R}id", "") or _any_id(element))
        elif name == "oleObject":
            self._embedded.append(element.get(f"{R}id", "") or _any_id(element))
        elif name == "dataValidation":
            cells = element.get("sqref") or element.findtext("{*}sqref") or ""
            self._hints += _comment(cells, _hint(element))
        else:
            for text in element.iter():
                words = " ".join(_PRINT_CODE.sub(" ", text.text or "").split())
                if _LETTER.search(words) and words not in self._print_lines:
                    self._print_lines.append(words)

    def _cells(self, row: Any, number: int) -> list[str]:
        cells: list[str] = []
        column = self._first_column - 1
        for cell in row:
            if _tag(cell) != "c":
                continue
            match = _REFERENCE.match(cell.get("r", ""))
            column = _column(match[1]) if match else column + 1
            text = self._cell(cell, column, number)
            place = max(column - self._first_column, 0)
            if text:
                cells += [""] * (place - len(cells))
                cells[place : place + 1] = [text]
        return cells

    def _cell(self, cell: Any, column: int, number: int) -> str:
        kind = cell.get("t", "n")
        parts = {_tag(child): child for child in cell}
        value = (parts["v"].text or "") if "v" in parts else ""
        style = _whole(cell.get("s"), 0)
        code = self._book.codes[style] if style < len(self._book.codes) else ""
        if kind == "inlineStr":
            return shown_text(_rich_text(parts["is"]), code) if "is" in parts else ""
        if not value:
            if "f" in parts and (kind != "str" or "v" not in parts):
                self._without_values += 1
                if len(self._without_value) < _NAMED_CELLS:
                    self._without_value.append(f"{_letters(column)}{number}")
            return ""
        if kind == "s":
            place = _whole(value, -1)
            texts = self._book.texts
            return shown_text(texts[place], code) if 0 <= place < len(texts) else ""
        if kind == "b":
            return _TRUTH.get(value, value)
        if kind == "d":
            return shown_moment(value, code)
        if kind != "n":
            return shown_text(value, code)  # of a formula, an error
        try:
            return shown(float(value), code, self._book.from_1904, value)
        except ValueError:
            return value

    def add_beside(self, builder: TextBuilder) -> None:
        """Add comments, drawings and the heads and feet of printed pages, after the last row."""
        row = 1
        relations = self._package.relations(self._part)
        beside = [*self._comments(), *self._hints, *self._controls(relations)]
        for row, text in sorted(dict.fromkeys(beside)):
            builder.places.append(Place(builder.add(text), sheet=self._name, row=row))
        for name in dict.fromkeys(self._embedded):
            if relation := relations.get(name):
                builder.leave_out(relation.part, FILE_WITHIN, SAVE_IT)
        for name in self._drawings:
            if relation := relations.get(name):
                self._add_drawing(builder, relation.part)
        start = builder.add("\n".join(self._print_lines))
        if self._print_lines:
            builder.places.append(Place(start, sheet=self._name, row=row))
        self._tell_hidden(builder)
        if self._without_values:
            count = self._without_values - len(self._without_value)
            cells = ", ".join(self._without_value) + (f" and {count:,} more" if count else "")
            builder.leave_out(f"{self._name} {cells}", NO_VALUE, CALCULATE)

    def _tell_hidden(self, builder: TextBuilder) -> None:
        builder.warnings += read_though_hidden("sheets", [self._name] * self.is_hidden)
        columns = [f"{self._name} {each}" for each in self._hidden_columns]
        builder.warnings += read_though_hidden("columns", columns)
        rows = [f"{self._hidden_rows:,} of {self._name}"] * bool(self._hidden_rows)
        builder.warnings += read_though_hidden("rows", rows)

    def _comments(self) -> Iterator[tuple[int, str]]:
        """Yield each comment with its row; those in threads are written twice in the file."""
        seen = Counter[str]()
        for relation in self._package.related(self._part, "threadedComment"):
            for comment in _elements(self._package, relation.part, "threadedComment"):
                seen[comment.get("ref", "")] += 1
                text = "".join(e.text or "" for e in comment if local_name(e) == "text")
                yield from _comment(comment.get("ref", ""), text)
        for relation in self._package.related(self._part, "comments"):
            for comment in _elements(self._package, relation.part, "comment"):
                if not seen[comment.get("ref", "")]:
                    text = "".join(_rich_text(e) for e in comment if local_name(e) == "text")
                    yield from _comment(comment.get("ref", ""), text)

    def _controls(self, relations: dict[str, Any]) -> Iterator[tuple[int, str]]:
        """Yield what buttons, boxes and labels on a sheet say, with their rows."""
        for relation in filter(None, map(relations.get, self._old_drawings)):
            for shape in _elements(self._package, relation.part, "shape"):
                data = next(shape.iterchildren("{*}ClientData"), None)
                box = next(shape.iterchildren("{*}textbox"), None)
                if data is None or box is None or data.get("ObjectType") == "Note":
                    continue  # notes are comments, which have a part of their own
                place = (data.findtext("{*}Anchor") or "").split(",")
                row = _whole(place[2].strip(), 0) if len(place) > 2 else 0
                if text := " ".join(" ".join(box.itertext()).split()):
                    yield row + 1, text

    def _add_drawing(self, builder: TextBuilder, part: str) -> None:
        root = self._package.xml(part)
        relations = self._package.relations(part)
        for anchor in () if root is None else root:
            text = anchor.findtext("{*}from/{*}row") or ""
            row = _whole(text, 0) + 1
            before = builder.length, len(builder.pictures)
            place = Place(builder.length, sheet=self._name, row=row)
            builder.places.append(place)
            for properties in anchor.iter("{*}cNvPr"):
                builder.add(description(properties))
            for body in anchor.iter("{*}txBody"):
                builder.add(shape_text(body))
            for blip in anchor.iter(f"{A}blip"):
                relation = relations.get(blip.get(f"{R}embed", ""))
                if relation is not None and (data := self._package.read(relation.part)):
                    builder.add_picture(data)
            add_drawings(builder, self._package, part, anchor)
            if before == (builder.length, len(builder.pictures)):
                builder.places.remove(place)


def _streamed(stream: Any, tags: list[str]) -> Any:
    """Read XML element by element; faults in it are passed over, and noted in its error_log."""
    return etree.iterparse(
        stream, tag=tags, resolve_entities=False, no_network=True, huge_tree=False, recover=True
    )


def _tell_faults(package: Package, part: str, elements: Any) -> None:
    if faults := list(elements.error_log):
        reason = f"damaged, read as far as it can be made out: {faults[0].message}"
        package.leave_out(part, reason)


def _shared_texts(package: Package, part: str) -> Iterator[str]:
    with package.open(part) as stream:
        items = _streamed(stream, ["{*}si"])
        try:
            for _, item in items:
                yield _rich_text(item)
                let_go(item)
            _tell_faults(package, part, items)
        except BROKEN as error:
            package.leave_out(part, f"damaged, read as far as it is whole: {error}")


def _rich_text(element: Any) -> str:
    """Return the text of a cell; how it is pronounced is left out."""
    parts = []
    for text in element.iter("{*}t"):
        run, said = text.getparent(), unescaped(text.text or "")
        name = local_name(run)
        place = run.find("{*}rPr/{*}vertAlign") if name == "r" else None
        if place is not None and place.get("val") == "superscript":
            said = raised(said)
        parts.append("" if name == "rPh" else said)
    return "".join(parts)


def _elements(package: Package, part: str, name: str) -> Iterator[Any]:
    root = package.xml(part)
    for element in () if root is None else root.iter():
        if local_name(element) == name:
            yield element


def _hint(element: Any) -> str:
    """Return what Excel says about a cell while one types into it, and what it offers."""
    said = [element.get(name, "") for name in ("promptTitle", "prompt", "errorTitle", "error")]
    if element.get("type") == "list":
        offered = element.findtext("{*}formula1") or ""
        said += [offered.strip('"').replace(",", ", ")] if offered.startswith('"') else []
    return ". ".join(filter(None, said))


def _comment(cell: str, text: str) -> Iterator[tuple[int, str]]:
    match = _REFERENCE.match(cell)
    if text.strip():
        yield int(match[2]) if match else 1, f"{cell}: {' '.join(text.split())}"


def _tag(element: Any) -> str:
    """Return an element's name, as `local_name` does, in less time: cells are many."""
    return str(element.tag).rpartition("}")[2]


def _any_id(element: Any) -> str:
    """Return the id of a relation in whatever namespace: that of the strict variant too."""
    return next((value for name, value in element.items() if name.endswith("}id")), "")


def let_go(element: Any) -> None:
    """Free an element that was read, and those before it."""
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _letters(column: int) -> str:
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _whole(text: str | None, default: int) -> int:
    is_number = text is not None and text.isdecimal() and text.isascii() and len(text) < 10
    return int(text or "") if is_number else default
