"""CSV by row."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import Document, ParseError
from pgblend.cli.documents.text_builder import TextBuilder, table_document, write_rows

_DELIMITERS = ",;\t|"
_SNIFFED_LINES = 60
_SNIFFED_CHARACTERS = 100_000
# What rows of a single cell count for.
_ALONE = 1e-3
# What is quoted between delimiters is a value, whatever is in it.
_QUOTED = re.compile(r'(?<![^,;|\t\n])"(?:[^"]|"")*"(?![^,;|\t\r\n])')
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
        write_rows(builder, enumerate(reader, first_row), None)
    except csv.Error as error:
        raise ParseError(f"not valid CSV: {error} (line {reader.line_num})") from None
    return table_document(builder)


def _find_delimiter(source: str) -> str:
    """Choose the delimiter that makes rows alike, of cells that look like values.

    The measure is that of van den Burg, Nazabal and Sutton, "Wrangling messy CSV files".
    """
    sample = _QUOTED.sub("x", "".join(_first_lines(source)))
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


def _first_lines(source: str) -> Iterator[str]:
    start = 0
    for _ in range(_SNIFFED_LINES):
        if start > _SNIFFED_CHARACTERS:
            return
        end = source.find("\n", start)
        if end < 0:
            yield source[start:]
            return
        yield source[start : end + 1]
        start = end + 1
