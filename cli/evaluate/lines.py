"""Files of lines, plain or compressed, and errors that name file and line."""

import gzip
import json
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pgblend.cli.errors import UserError

SUFFIXES = ("", ".xz", ".gz")


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of these files that is there, plain, .xz or .gz; None without any."""
    for name in names:
        for suffix in SUFFIXES:
            path = folder / f"{name}{suffix}"
            if path.is_file():
                return path
    return None


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, numbered from 1; what is not UTF-8 is an error."""
    number = 0
    try:
        with _open(path) as lines:
            for number, line in enumerate(lines, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as error:
        raise wrong_line(path, number, f"not UTF-8 ({error.reason})") from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise UserError(f"cannot read {path}: {error}") from error


def json_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a JSONL file with their lines."""
    for number, line in numbered_lines(path):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise wrong_line(path, number, f"not valid JSON ({error})") from error
        if not isinstance(record, dict):
            raise wrong_line(path, number, "expected a JSON object")
        yield number, record


def wrong_line(path: Path, number: int, problem: str) -> UserError:
    """Make the error for one line of a file."""
    return UserError(
        f"{path}, line {number}: {problem}",
        hint="nothing of the judged set was imported; correct the file and run this again",
    )


def _open(path: Path) -> lzma.LZMAFile | gzip.GzipFile | IO[bytes]:
    if path.suffix == ".xz":
        return lzma.open(path)
    if path.suffix == ".gz":
        return gzip.open(path)
    return path.open("rb")
