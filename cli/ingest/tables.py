"""Tables on their way into a document: which rows are the header, what each row is of."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from pgblend.cli.ingest.document import Heading, Row, Table

_MOST_HEADER_ROWS = 3
_LONGEST_CAPTION = 300
_LONGEST_LABEL = 80
_YEAR = re.compile(r"(1[89]|20)\d\d")
_AMOUNT = re.compile(r"[-+(\u2212]?[$\u20ac\u00a3]?\s?\d[\d.,'\s]*\s?%?\)?")
# How captions begin that stand below their table.
CAPTION = re.compile(
    r"(?i:Table|Tab\.|Tabelle|Tableau|Tabla|Tabella|Tabela|Exhibit|Schedule)\s*"
    r"(?:\d[\d.]*|[A-Z][\d.]*|[IVX]+)(?!\w)"
)


def is_amount(cell: str) -> bool:
    """Tell whether a cell is a number, and no year: years are names of columns."""
    return bool(_AMOUNT.fullmatch(cell)) and not _YEAR.fullmatch(cell)


class TableRows:
    """Collects a table's rows as they are read."""

    def __init__(self, caption: str = "") -> None:
        self._caption = caption
        self._rows: list[tuple[int, list[str]]] = []
        self._header_rows = 0
        self._spans: list[tuple[int, str]] = []

    def add(
        self, offset: int, cells: Iterable[str], is_header: bool = False, group: str = ""
    ) -> None:
        """Add a row; its `group` is the cell of an earlier row that stands beside this one too."""
        if is_header and self._header_rows == len(self._rows):
            self._header_rows += 1
        if group:
            self._spans.append((len(self._rows), group))
        self._rows.append((offset, [" ".join(cell.split()) for cell in cells]))

    @property
    def start(self) -> int:
        """Where the first row begins."""
        return self._rows[0][0]

    @property
    def has_amounts(self) -> bool:
        """Whether there are figures: what names columns after them is another table's."""
        return any(is_amount(cell) for _, cells in self._rows[-2:] for cell in cells)

    def table(self, end: int) -> Table | None:
        """Return the table; None where it is no more than a list or a layout."""
        if len(self._rows) < 2 or max(len(cells) for _, cells in self._rows) < 2:
            return None
        titles = list(takewhile(_is_alone, (cells for _, cells in self._rows)))
        first = len(titles)
        count = self._header_rows - first
        if count <= 0:
            count = _header_rows([cells for _, cells in self._rows[first:]])
        body = first + count
        header = [" | ".join(filter(None, cells)) for _, cells in self._rows[first:body]]
        caption = " ".join([self._caption, *("".join(cells) for cells in titles)]).strip()
        rows = tuple(self._labelled(body))
        return Table(
            self.start, end, caption[:_LONGEST_CAPTION], "; ".join(filter(None, header)), rows
        )

    def _labelled(self, body: int) -> Iterable[Row]:
        """Yield the rows with their labels; a row of one cell names those after it."""
        spans = dict(self._spans)
        group = ""
        for place, (offset, cells) in enumerate(self._rows[body:], start=body):
            label = next((cell for cell in cells[:2] if cell and not is_amount(cell)), "")
            if _is_alone(cells):
                group = label
            yield Row(offset, label[:_LONGEST_LABEL], spans.get(place, group)[:_LONGEST_LABEL])


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
