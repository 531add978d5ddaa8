"""Links given as a table: source, target, and what kind of edge."""

import bz2
import csv
import gzip
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pgblend.cli.base.errors import UserError

# Column -> the names that it may have in the header.
_NAMES = {
    "source": ("src", "source", "source_key", "from"),
    "target": ("dst", "target", "target_key", "to"),
    "type": ("type", "edge_type", "kind"),
    "weight": ("weight", "score"),
    "metadata": ("metadata",),
}
_OPENERS = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
Row = tuple[int, str, str, str, float, str]


def read_links(path: Path, default_type: str) -> Iterator[Row]:
    """Yield (line, source key, target key, edge type, weight, metadata) of a TSV or CSV file.

    The header names the columns: src, dst, and perhaps type, weight and metadata (JSON); others
    are left out. Files may be compressed (.xz, .gz, .bz2). UserError names the line of what is
    wrong.
    """
    try:
        with _open(path) as stream:
            yield from _rows(path, stream, default_type)
    except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{path} cannot be read: {reason}", hint="expected a TSV file") from error


def _open(path: Path) -> IO[str]:
    opener = _OPENERS.get(path.suffix, open)
    stream: IO[str] = opener(path, "rt", encoding="utf-8-sig", newline="")  # type: ignore[operator]
    return stream


def _rows(path: Path, stream: IO[str], default_type: str) -> Iterator[Row]:
    is_csv = path.name.removesuffix(path.suffix if path.suffix in _OPENERS else "").endswith(".csv")
    reader = (
        csv.reader(stream) if is_csv else csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
    )
    header = [name.strip().lower() for name in next(reader, [])]
    place = {
        column: next((header.index(name) for name in names if name in header), None)
        for column, names in _NAMES.items()
    }
    if place["source"] is None or place["target"] is None:
        raise UserError(
            f"{path} has the columns {', '.join(header) or '(none)'}",
            hint="name two of them src and dst in the first line",
        )
    for cells in reader:

        def cell(column: str, cells: list[str] = cells) -> str:
            index = place[column]
            return cells[index].strip() if index is not None and index < len(cells) else ""

        if not any(cells):
            continue
        if not cell("source") or not cell("target"):
            raise UserError(
                f"{path}, line {reader.line_num}: a link without source or target",
                hint="every line has a src and a dst",
            )
        yield (
            reader.line_num,
            cell("source"),
            cell("target"),
            cell("type") or default_type,
            _weight(path, reader.line_num, cell("weight")),
            _metadata(path, reader.line_num, cell("metadata")),
        )


def _weight(path: Path, line: int, text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        raise UserError(
            f"{path}, line {line}: weight {text!r} is no number", hint="expected a number from 0"
        ) from None


def _metadata(path: Path, line: int, text: str) -> str:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UserError(
            f"{path}, line {line}: metadata is no JSON object", hint='for example {"page": 3}'
        )
    return json.dumps(value)
