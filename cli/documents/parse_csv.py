"""CSV by row."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from pgblend.cli.documents.decode import text_lines
from pgblend.cli.documents.document import Document, ParseError
from pgblend.cli.documents.text_builder import Sheet, table_document, table_parts

_DELIMITERS = ",;\t|"
_SNIFFED_LINES = 60
_SNIFFED_CHARACTERS = 100_000
# What rows of a single cell count for.
_ALONE = 1e-3
# What is quoted between delimiters is a value, whatever is in it.
_QUOTED = re.compile(r'(?<![^,;|\t\n])"(?:[^"]|"")*"(?![^,;|\t\r\n])')
# MySQL's way to write a quote within quotes; before a delimiter it may end a folder's name.
_ESCAPED_QUOTE = re.compile(r'\\"(?=[^,;|\t\r\n])')
_DOUBLED_QUOTE = re.compile(r'(?<=[^,;|\t\n\\])""(?=[^,;|\t\r\n])')
_NUMBER = re.compile(r"[-+(]?\W?\d[\d.,' ]*\W{0,2}")
# Delimiters that no space follows: prose has a space there.
_UNPARTED = re.compile(r"[,;|\t](?=\S)|[;|\t]$")
# What no text has in it: rows of a single column are not parted.
_NO_DELIMITER = "\x1f"
_PROSE_DELIMITERS = ",;"
# So many of the commas of prose have a space after them; that of 1,000 is none.
_SPACED = 0.8
_SEPARATOR_LINE = "sep="


def parse_csv(data: bytes) -> Document:
    """Read CSV or TSV, also with semicolons or bars; a quoted cell may span lines."""
    lines = _lines(data)
    head = list(_first_lines(lines))
    first = head[0].rstrip("\n") if head else ""
    if first.lower().startswith(_SEPARATOR_LINE) and len(first) == len(_SEPARATOR_LINE) + 1:
        delimiter, head, first_row = first[-1], head[1:], 2
    else:
        delimiter, first_row = _find_delimiter("".join(head)), 1
    csv.field_size_limit(max(len(data), csv.field_size_limit()))
    reader = csv.reader(chain(head, lines), delimiter=delimiter)
    if data.count(b'"') % 2 and _is_open_at_end(data, delimiter):
        reader = csv.reader(chain(head, lines), delimiter=delimiter, quoting=csv.QUOTE_NONE)
    return table_document(table_parts([Sheet("", _rows(reader, first_row))]))


def _lines(data: bytes) -> Iterator[str]:
    """Yield lines, in which a quote within quotes is written twice."""
    lines = text_lines(data)
    head = list(_first_lines(lines))
    sample = "".join(head)
    if _DOUBLED_QUOTE.search(sample) or not _ESCAPED_QUOTE.search(sample):
        return chain(head, lines)
    return (line.replace('\\"', '""') for line in chain(head, lines))


def _is_open_at_end(data: bytes, delimiter: str) -> bool:
    """Whether a quote that nobody closed would take the rest of the rows into one cell."""
    reader = csv.reader(_lines(data), delimiter=delimiter)
    lines = [0, 0]
    for _ in reader:
        lines = [lines[1], reader.line_num]
    return lines[1] - lines[0] > 1


def _rows(reader: Any, first: int) -> Iterator[tuple[int, list[str]]]:
    try:
        yield from enumerate(reader, first)
    except csv.Error as error:
        raise ParseError(f"not valid CSV: {error} (line {reader.line_num})") from None


def _find_delimiter(sample: str) -> str:
    """Choose the delimiter that makes rows alike, of cells that look like values.

    The measure is that of van den Burg, Nazabal and Sutton, "Wrangling messy CSV files".
    """
    sample = _QUOTED.sub("x", sample)
    delimiters = [each for each in _DELIMITERS if not _is_prose(sample, each)]
    best = max(delimiters, key=lambda delimiter: _likeness(sample, delimiter))
    return best if best in sample else _NO_DELIMITER


def _is_prose(sample: str, delimiter: str) -> bool:
    """Tell commas and semicolons of sentences from those between cells: spaces, and rows unlike."""
    if delimiter not in _PROSE_DELIMITERS:
        return False
    spaced = sample.count(f"{delimiter} ")
    unspaced = len(re.findall(rf"(?<!\d){delimiter}(?=\S)|{delimiter}(?=[^\s\d])", sample))
    if not spaced or spaced < _SPACED * (spaced + unspaced):
        return False
    lines = sample.strip().splitlines()
    rows = [line.split(delimiter) for line in lines if line.strip()]
    parted = [len(row) > 1 for row in rows]
    figures = sum(any(_NUMBER.fullmatch(cell.strip()) for cell in row[1:]) for row in rows)
    if 2 * figures >= sum(parted):
        return False
    # A title stands above a table, and a blank line between them.
    begins_apart = not parted[0] and bool(lines[1].strip())
    goes_on_alone = not all(parted[parted.index(True) :])
    return begins_apart or goes_on_alone


def _likeness(sample: str, delimiter: str) -> float:
    """Return how alike the rows are that a delimiter makes, and how much cells look like values."""
    rows = [line.split(delimiter) for line in sample.splitlines() if line.strip()]
    lengths = Counter(map(len, rows))
    pattern = sum(
        count * max(length - 1, _ALONE) / length for length, count in lengths.items()
    ) / max(len(lengths), 1)
    cells = [cell.strip() for row in rows for cell in row]
    return pattern * sum(map(_is_value, cells)) / max(len(cells), 1)


def _is_value(cell: str) -> bool:
    """Tell a value from several that a delimiter should have parted."""
    return bool(_NUMBER.fullmatch(cell)) or not _UNPARTED.search(cell)


def _first_lines(lines: Iterator[str]) -> Iterator[str]:
    length = 0
    for line in islice(lines, _SNIFFED_LINES):
        yield line
        length += len(line)
        if length > _SNIFFED_CHARACTERS:
            return
