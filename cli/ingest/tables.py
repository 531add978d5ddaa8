"""Tables on their way into a document: which rows are the header, what each row is of."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pgblend.cli.ingest.document import Heading, Row, Table

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
