"""Put a text together piece by piece: headings, pages, tables and rows keep their places."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.documents.document import (
    Document,
    Heading,
    LeftOut,
    ParseError,
    Picture,
    Place,
    Row,
    Table,
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
        self._rows: list[Row] = []
        self._header_rows = 0
        self._titles = 0
        self._group = ""
        self._columns = 0
        self.has_amounts = False

    def add(
        self, offset: int, cells: Sequence[str], is_header: bool = False, group: str = ""
    ) -> None:
        """Add a row, each cell on one line; the first rows of one cell are titles.

        Others of one cell name those after them, as `group` does, which is the cell of an earlier
        row that stands beside this one too.
        """
        label = next((cell for cell in cells[:2] if cell and not is_amount(cell)), "")
        label = label[:_LONGEST_LABEL]
        if is_header and self._header_rows == len(self._rows):
            self._header_rows += 1
        if _is_alone(cells):
            if self._titles == len(self._rows):
                self._titles += 1
            else:
                self._group = label
        if len(self._head) < _HEAD_ROWS:
            self._head.append(cells)
        self._columns = max(self._columns, len(cells))
        self.has_amounts = self.has_amounts or any(map(is_amount, cells))
        self._rows.append(Row(offset, label, group[:_LONGEST_LABEL] or self._group))

    @property
    def start(self) -> int:
        """Where the first row begins."""
        return self._rows[0].offset

    def table(self, end: int) -> Table | None:
        """Return the table; None where it is no more than a list or a layout."""
        if len(self._rows) < 2 or self._columns < 2:
            return None
        first = min(self._titles, len(self._head))
        count = self._header_rows - first
        if count <= 0:
            count = _header_rows(self._head[first:])
        body = first + count
        header = "; ".join(" | ".join(filter(None, cells)) for cells in self._head[first:body])
        caption = " ".join([self._caption, *("".join(cells) for cells in self._head[:first])])
        rows = tuple(self._rows[body:])
        return Table(self.start, end, caption.strip()[:_LONGEST_CAPTION], header.strip("; "), rows)


def _is_alone(cells: Sequence[str]) -> bool:
    """Whether a row of several cells has text in its first alone."""
    return bool(cells and cells[0]) and not any(cells[1:])


def _header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Count the first rows that name columns: no amounts, and more than one only by blank corners.

    A second row names columns as well where its own first cell, or that of the row before, is
    empty: groups of columns, units.
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
        from pgblend.cli.documents.picture import embedded_picture  # Pillow takes its time

        self.pictures += embedded_picture(data, place, page, read)

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


def table_document(builder: TextBuilder) -> Document:
    """Return the document of tables that are written; its chunks are whole rows."""
    return Document(
        text=builder.text(),
        headings=tuple(builder.headings),
        tables=tuple(builder.tables),
        places=tuple(builder.places),
        breaks=tuple(builder.breaks),
        pictures=tuple(builder.pictures),
        whole_lines=True,
    )


def write_rows(
    builder: TextBuilder, rows: Iterable[tuple[int, list[str]]], sheet: str | None
) -> None:
    """Write a sheet; a first row of texts only is taken for the names of the columns.

    Names that are too long for a heading stand before each cell, which then has its own line.
    """
    name = storable_text(sheet) if sheet else None
    header: list[str] | None = None
    wide: list[str] | None = None
    tables = [TableRows()]
    is_parted = False
    named = False
    for number, row in rows:
        cells = [cell_text(cell) for cell in row]
        if not any(cells):
            is_parted = True
            continue
        if is_parted and tables[-1].has_amounts and not any(map(is_amount, cells)):
            tables.append(TableRows())
        is_parted = False
        line = row_text(_near(cells)) if wide is None else _named_cells(wide, cells)
        start = builder.add(line, "\n" if header is not None else "\n\n")
        builder.places.append(Place(start, sheet=name, row=number))
        tables[-1].add(start, cells)
        if header is None:
            header = cells
            builder.breaks.append(start)
            if name:
                builder.headings.append(Heading(start, 1, name))
            wide = header if _is_header(header) and len(line) > _LONGEST_HEADER else None
        elif not named:
            named = True
            if wide is None and _is_header(header):
                names = storable_text(row_text(header))
                builder.headings.append(Heading(start, 2, names))
    builder.tables += _stacked(tables, builder.length, has_names=wide is not None)


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


def _stacked(tables: Sequence[TableRows], end: int, has_names: bool) -> Iterator[Table]:
    """Yield a sheet's tables; what one lacks of caption and header is that of the one above.

    Where the cells have their names with them, the header is not said once more.
    """
    ends = [*(table.start for table in tables[1:]), end]
    above: Table | None = None
    for rows, table_end in zip(tables, ends, strict=True):
        table = rows.table(table_end)
        if table is not None:
            if above is not None:
                caption = " ".join(filter(None, (above.caption, table.caption)))
                said = caption if not table.header else table.caption or above.caption
                table = replace(table, caption=said, header=table.header or above.header)
            yield replace(table, header="") if has_names else table
            above = table


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
