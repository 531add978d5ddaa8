"""CSV by row."""

import csv
import io
from collections.abc import Iterator

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document, ParseError
from pgblend.cli.ingest.text_builder import TextBuilder
from pgblend.cli.ingest.write_rows import table_document, write_rows

_DELIMITERS = ",;\t|"
_SNIFFED_LINES = 20
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
