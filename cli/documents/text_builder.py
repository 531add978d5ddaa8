"""Put a text together piece by piece: headings, pages, tables and rows keep their places."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.documents.document import (
    Document,
    Heading,
    LeftOut,
    ParseError,
    Picture,
    Place,
    Table,
    TableRow,
    storable_text,
)

# Tables on their way into a document: which rows are the header, what each row is of.

_MOST_HEADER_ROWS = 3
# Titles and header are among so many rows.
_HEAD_ROWS = 16
_LONGEST_CAPTION = 300
_LONGEST_LABEL = 80
_YEAR = re.compile(r"(1[89]|20)\d\d")
_CURRENCY = (
    r"(?:(?:[A-Z]{1,3})?[$\u20ac\u00a3\u00a5\u20b9]"
    r"|EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|INR)"
)
_AMOUNT = re.compile(
    rf"[-+(\u2212]?\s?{_CURRENCY}?\s?[-\u2212]?\d[\d.,'\s]*(?:E[-+]?\d+)?\s?(?:%|{_CURRENCY})?\)?"
)
# How captions begin that stand below their table.
CAPTION = re.compile(
    r"(?i:Table|Tab\.|Tabelle|Tableau|Tabla|Tabella|Tabela|Exhibit|Schedule)\s*"
    r"(?:\d[\d.]*|[A-Z][\d.]*|[IVX]+)(?!\w)"
)


def is_amount(cell: str) -> bool:
    """Tell whether a cell is a number, and no year: years are names of columns."""
    return bool(_AMOUNT.fullmatch(cell)) and not _YEAR.fullmatch(cell)


class TableRows:
    """Collects a table's rows as they are read; the cells of the first alone are kept."""

    def __init__(self, caption: str = "") -> None:
        self._caption = caption
        self._head: list[Sequence[str]] = []
        self._rows: list[TableRow] = []
        self._rows_before = 0
        self._header_rows = 0
        self._titles = 0
        self._group = ""
        self._columns = 0
        self.has_amounts = False

    def add(
        self, offset: int, cells: Sequence[str], is_header: bool = False, group: str = ""
    ) -> None:
        """Add a row, each cell on one line; the first rows of one cell are titles.

        Others of one cell name those after them, as `group` does. That is the cell of an earlier
        row that stands beside this one too.
        """
        label = next((cell for cell in cells[:2] if cell and not is_amount(cell)), "")
        label = label[:_LONGEST_LABEL]
        if is_header and self._header_rows == self._count():
            self._header_rows += 1
        if _is_alone(cells):
            if self._titles == self._count():
                self._titles += 1
            else:
                self._group = label
        if len(self._head) < _HEAD_ROWS:
            self._head.append(cells)
        self._columns = max(self._columns, len(cells))
        self.has_amounts = self.has_amounts or any(map(is_amount, cells))
        self._rows.append(TableRow(offset, label, group[:_LONGEST_LABEL] or self._group))

    @property
    def start(self) -> int:
        """Where the first row begins."""
        return self._rows[0].offset if self._rows else 0

    def go_on(self) -> None:
        """Begin a part: the rows before it are let go, what heads them is not."""
        self._rows_before = self._count()
        self._rows = []

    def _count(self) -> int:
        return self._rows_before + len(self._rows)

    def table(self, end: int) -> Table | None:
        """Return the table; None where it is no more than a list or a layout."""
        if self._count() < 2 or self._columns < 2:
            return None
        first = min(self._titles, len(self._head))
        count = self._header_rows - first
        if count <= 0:
            count = _header_rows(self._head[first:])
        body = first + count
        header = "; ".join(" | ".join(filter(None, cells)) for cells in self._head[first:body])
        caption = " ".join([self._caption, *("".join(cells) for cells in self._head[:first])])
        rows = tuple(self._rows[max(body - self._rows_before, 0) :])
        return Table(self.start, end, caption.strip()[:_LONGEST_CAPTION], header.strip("; "), rows)


def _is_alone(cells: Sequence[str]) -> bool:
    """Whether a row of several cells has text in its first alone."""
    return bool(cells and cells[0]) and not any(cells[1:])


def _header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Count the first rows that name columns: no amounts, and more than one only by blank corners.

    A second row names columns as well where its own first cell, or that of the row before, is
    empty, as with groups of columns and with units.
    """
    count = 0
    for cells in rows[:_MOST_HEADER_ROWS]:
        if any(map(is_amount, cells)) or (count and cells[0] and rows[count - 1][0]):
            break
        count += 1
    return count if count < len(rows) else 0


def with_captions(
    tables: Iterable[Table], text: str, headings: Sequence[Heading]
) -> tuple[Table, ...]:
    """Give tables without a caption the short paragraph before them, or the caption below."""
    starts = {heading.offset for heading in headings}
    return tuple(
        table if table.caption else replace(table, caption=_caption_around(table, text, starts))
        for table in tables
    )


def _caption_around(table: Table, text: str, headings: set[int]) -> str:
    begin = max(table.start - 2 * _LONGEST_CAPTION, 0)
    before = text[begin : table.start].rstrip()
    cut = before.rfind("\n\n")
    start = begin if cut < 0 else begin + cut + 2
    after = text[table.end : table.end + _LONGEST_CAPTION].lstrip().partition("\n\n")[0]
    paragraph = before[start - begin :]
    if CAPTION.match(after) and not CAPTION.match(paragraph):
        return " ".join(after.split())
    if start in headings or len(paragraph) > _LONGEST_CAPTION or "|" in paragraph:
        return ""
    return " ".join(paragraph.strip("*_# ").split())


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
    warnings: list[str] = field(default_factory=list)
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

    def add_read(self, text: str, headings: Iterable[Heading], tables: Iterable[Table]) -> int:
        """Add a text that was read by itself, with its headings and tables; return its offset."""
        start = self.add(text)
        self.headings += [replace(each, offset=start + each.offset) for each in headings]
        self.tables += [table.moved(start) for table in tables]
        return start

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
        from pgblend.cli.documents.small_pictures import embedded_picture  # Pillow takes its time

        self.pictures += embedded_picture(data, place, page, read)

    def emptied(self) -> "TextBuilder":
        """Return a builder for what comes after; it knows which pictures it has had."""
        return TextBuilder(_seen=self._seen, _asked=self._asked)

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


# A sheet of a workbook, as each kind of file gives it.


def _nothing(builder: TextBuilder) -> None:
    """Add nothing."""


@dataclass(frozen=True)
class Sheet:
    """A sheet's rows, each with its number from 1, and what adds the words beside the cells.

    The rows are read once, and before what is beside them.
    """

    name: str
    rows: Iterator[tuple[int, list[str]]]
    add_beside: Callable[[TextBuilder], None] = _nothing


# Tables as text: a row a line, column names as the chunks' heading.

_LONGEST_HEADER = 300
_MOST_EMPTY = 100
# Longer sheets are read part by part.
PART_CHARACTERS = 1_000_000


def table_document(parts: Iterator[Document]) -> Document:
    """Return a document of tables: its first part, which knows how to read the others."""
    first, second = next(parts), next(parts, None)
    return replace(first, further=() if second is None else chain([second], parts))


def table_parts(sheets: Iterable[Sheet]) -> Iterator[Document]:
    """Yield the text of sheets in parts, one at least; a part ends between two rows of a sheet."""
    builder = TextBuilder()
    for sheet in sheets:
        rows = _SheetRows(sheet.name)
        for number, row in sheet.rows:
            if builder.length >= PART_CHARACTERS and rows.may_part:
                rows.end(builder)
                yield _table_part(builder)
                builder = builder.emptied()
                rows.go_on(builder)
            rows.add(builder, number, row)
        if rows.is_empty:
            _add_name(builder, sheet)
        rows.end(builder)
        sheet.add_beside(builder)
    yield _table_part(builder)


def _table_part(builder: TextBuilder) -> Document:
    """Return what is written; its chunks are whole rows."""
    return Document(
        text=builder.text(),
        headings=tuple(builder.headings),
        tables=tuple(builder.tables),
        places=tuple(builder.places),
        breaks=tuple(builder.breaks),
        pictures=tuple(builder.pictures),
        left_out=tuple(builder.left_out),
        warnings=tuple(builder.warnings),
        whole_lines=True,
    )


def _add_name(builder: TextBuilder, sheet: Sheet) -> None:
    """Name a sheet without rows, where there is something beside its cells."""
    beside = TextBuilder()
    sheet.add_beside(beside)
    if beside.length or beside.pictures:
        name = storable_text(sheet.name)
        start = builder.add(name) if name else builder.length
        builder.breaks.append(start)
        builder.headings += [Heading(start, 1, name)] if name else []
        row = beside.places[0].row if beside.places else 1
        builder.places.append(Place(start, sheet=name or None, row=row))


class _SheetRows:
    """Writes a sheet; a first row of texts only is taken for the names of the columns.

    Names that are too long for a heading stand before each cell, which then has its own line.
    """

    def __init__(self, name: str) -> None:
        self._name = storable_text(name) or None
        self._header: list[str] | None = None
        self._wide: list[str] | None = None
        self._tables = [TableRows()]
        self._above: Table | None = None
        self._is_after_blank = False
        self._count = 0

    @property
    def is_empty(self) -> bool:
        """Whether no row has had a text."""
        return not self._count

    @property
    def may_part(self) -> bool:
        """Whether a part of the text may end here: what heads the rows is known."""
        return self._count > 1

    def add(self, builder: TextBuilder, number: int, row: list[str]) -> None:
        """Write a row under its number."""
        cells = [cell_text(cell) for cell in row]
        if not any(cells):
            self._is_after_blank = True
            return
        has_amounts = self._tables[-1].has_amounts
        if self._is_after_blank and has_amounts and not any(map(is_amount, cells)):
            self._tables.append(TableRows())
        self._is_after_blank = False
        wide = self._wide
        line = row_text(_near(cells)) if wide is None else _named_cells(wide, cells)
        start = builder.add(line, "\n" if self._count else "\n\n")
        builder.places.append(Place(start, sheet=self._name, row=number))
        self._tables[-1].add(start, cells)
        self._count += 1
        if self._header is None:
            self._header = cells
            is_wide = _is_header(cells) and len(line) > _LONGEST_HEADER
            self._wide = cells if is_wide else None
            builder.breaks.append(start)
            self._add_sheet_heading(builder, start)
        elif self._count == 2:
            self._add_names_heading(builder, start)

    def go_on(self, builder: TextBuilder) -> None:
        """Begin a part of the text under the same headings."""
        self._tables[-1].go_on()
        del self._tables[:-1]
        self._add_sheet_heading(builder, 0)
        self._add_names_heading(builder, 0)

    def end(self, builder: TextBuilder) -> None:
        """Note the tables of the rows that are written."""
        ends = [*(table.start for table in self._tables[1:]), builder.length]
        for rows, table_end in zip(self._tables, ends, strict=True):
            table = rows.table(table_end)
            if table is not None:
                headed = self._headed(table)
                # Where cells have their names with them, the header is not said once more.
                builder.tables.append(replace(headed, header="") if self._wide else headed)
                if rows is not self._tables[-1]:
                    self._above = headed

    def _headed(self, table: Table) -> Table:
        """Give a table what it lacks of caption and header: that of the one above."""
        above = self._above
        if above is None:
            return table
        caption = " ".join(filter(None, (above.caption, table.caption)))
        said = caption if not table.header else table.caption or above.caption
        return replace(table, caption=said, header=table.header or above.header)

    def _add_sheet_heading(self, builder: TextBuilder, start: int) -> None:
        if self._name:
            builder.headings.append(Heading(start, 1, self._name))

    def _add_names_heading(self, builder: TextBuilder, start: int) -> None:
        if self._wide is None and self._header and _is_header(self._header):
            names = storable_text(row_text(self._header))
            builder.headings.append(Heading(start, 2, names))


def _near(cells: list[str]) -> list[str]:
    """Return cells with no more than so many empty ones in a row: some lie at a sheet's far end."""
    if len(cells) <= _MOST_EMPTY:
        return cells
    kept: list[str] = []
    empty = 0
    for cell in cells:
        empty = 0 if cell else empty + 1
        if empty <= _MOST_EMPTY:
            kept.append(cell)
    return kept


def _named_cells(names: Sequence[str], cells: Sequence[str]) -> str:
    """Write each cell after the name of its column, one a line."""
    known = len(names)
    return "\n".join(
        f"{names[place]}: {cell}" if place < known and names[place] else cell
        for place, cell in enumerate(cells)
        if cell
    )


def _is_header(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return len(filled) > 1 and not any(_is_value(cell) for cell in filled)


def _is_value(cell: str) -> bool:
    """Tell whether a cell is a number in whatever form, years included."""
    try:
        float(cell)
    except ValueError:
        return is_amount(cell)
    return True
