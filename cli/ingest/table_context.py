"""What the rows of a table are to be read with, for a chunk that has some of them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from pgblend.cli.ingest.document import Row, Table, storable_text

# In characters: models read the first few hundred tokens of a text.
_LONGEST_HEADER = 300
_LONGEST_LABELS = 400


class TableContext:
    """Finds the tables that a chunk has rows of."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables
        self._ends = [table.end for table in tables]
        self._starts = [table.start for table in tables]

    def of(self, start: int, end: int, heading: str) -> str:
        """Return caption, header and labels of rows of the tables within; "" where none is."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        lines = [
            line
            for table in self._tables[first:last]
            for line in _lines(table, start, end, heading)
        ]
        return storable_text("\n".join(lines))


def _lines(table: Table, start: int, end: int, heading: str) -> Iterator[str]:
    # The first may begin before, in a row that is longer than a chunk.
    first = max(bisect_right(table.rows, start, key=lambda row: row.offset) - 1, 0)
    last = bisect_left(table.rows, end, key=lambda row: row.offset)
    rows = table.rows[first:last]
    if rows:
        if table.caption:
            yield table.caption
        if table.header and table.header not in heading:
            yield table.header[:_LONGEST_HEADER]
        labels = ", ".join(_labels(rows))
        if labels:
            yield labels[:_LONGEST_LABELS]


def _labels(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the labels once each, a group's name before the first row of it."""
    seen = {""}
    for row in rows:
        for label in (row.group, row.label):
            if label not in seen:
                seen.add(label)
                yield label
