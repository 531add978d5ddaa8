"""Judged sets as files: BEIR folders (corpus, queries, qrels) and TREC topics and qrels."""

import gzip
import json
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.document import storable_text

# Ready vectors of a judged set: a .npz file with ids and vectors of documents and queries.

_ARRAYS = ("corpus_ids", "corpus", "query_ids", "queries")


@dataclass(frozen=True)
class Vectors:
    """Vectors by id; all have `dimensions` numbers, none is zero."""

    documents: dict[str, NDArray[np.float32]]
    queries: dict[str, NDArray[np.float32]]
    dimensions: int


def read_vectors(path: Path) -> Vectors:
    """Read corpus_ids, corpus, query_ids and queries; what does not fit together is an error."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, NpzFile):
            raise UserError(f"{path} is a single array", hint=f"expected a .npz file of {_ARRAYS}")
        with loaded as file:
            missing = [name for name in _ARRAYS if name not in file]
            if missing:
                raise UserError(f"{path} has no array {missing[0]!r}", hint=f"expected {_ARRAYS}")
            arrays = {name: file[name] for name in _ARRAYS}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    documents = _by_id(path, "corpus", arrays["corpus_ids"], arrays["corpus"])
    queries = _by_id(path, "queries", arrays["query_ids"], arrays["queries"])
    dimensions = {vector.size for vector in (*documents.values(), *queries.values())}
    if len(dimensions) != 1:
        raise UserError(f"{path}: vectors have {sorted(dimensions)} dimensions, expected one size")
    return Vectors(documents, queries, dimensions.pop())


def check_covers(vectors: Vectors, documents: set[str], queries: set[str], path: Path) -> None:
    """Refuse a file that lacks the vector of a document or a query."""
    for kind, wanted, found in (
        ("documents", documents, vectors.documents),
        ("queries", queries, vectors.queries),
    ):
        lacking = sorted(wanted - found.keys())
        if lacking:
            raise UserError(
                f"{path} has no vector for {len(lacking)} of {len(wanted)} {kind}, "
                f"such as {lacking[0]!r}",
                hint="nothing was imported: make the vectors anew, or leave --vectors out",
            )


def _by_id(
    path: Path, name: str, ids: NDArray[np.str_], matrix: NDArray[np.floating]
) -> dict[str, NDArray[np.float32]]:
    if matrix.ndim != 2 or ids.shape != (len(matrix),):
        raise UserError(f"{path}: {name} is {matrix.shape} for {ids.shape} ids")
    if matrix.dtype.kind not in "fiu":
        raise UserError(f"{path}: {name} holds {matrix.dtype}, expected real numbers")
    vectors = matrix.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1) | ~vectors.any(axis=1))
    if wrong.size:
        raise UserError(f"{path}: the vector of {str(ids[wrong[0]])!r} is zero or not finite")
    found = {str(key): vector for key, vector in zip(ids, vectors, strict=True)}
    if len(found) < len(ids):
        twice = next(key for key, count in Counter(map(str, ids)).items() if count > 1)
        raise UserError(f"{path}: {name} has two vectors of {twice!r}")
    return found


# Files of lines, plain or compressed, and errors that name file and line.

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
        hint="nothing of the judged set was imported: correct the file and run this again",
    )


def _open(path: Path) -> lzma.LZMAFile | gzip.GzipFile | IO[bytes]:
    if path.suffix == ".xz":
        return lzma.open(path)
    if path.suffix == ".gz":
        return gzip.open(path)
    return path.open("rb")


MAX_GRADE = 1000
Key = tuple[str, str]
_NUMBER_TEXT = re.compile(
    r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})(e[+-]?[0-9]{1,2})?", re.I
)
_TOPIC_TAG = re.compile(r"<top>", re.IGNORECASE)
_TOPIC = re.compile(r"<top>((?:(?!<top>).)*?)</top>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*(\S+)", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*([^<]+)", re.IGNORECASE)


@dataclass(frozen=True)
class JudgedFiles:
    """The files of a judged set; without a corpus its documents are in a collection already."""

    corpus: Path | None
    queries: Path
    qrels: Path


@dataclass(frozen=True)
class JudgedSet:
    """Queries and judgements, checked against each other and the documents."""

    queries: dict[str, str]
    judgements: dict[tuple[str, str], int]
    vectors: Vectors | None
    grade_scale: float  # what the file's grades were multiplied by


def find_judged_files(
    folder: Path, queries: Path | None, qrels: Path | None, split: str
) -> JudgedFiles:
    """Find the files in a folder, unless they are named; missing ones are an error."""
    queries = queries or find_file(
        folder, "queries.jsonl", "queries.tsv", "topics.tsv", "topics.txt", "topics"
    )
    qrels = qrels or find_file(
        folder, f"qrels/{split}.tsv", "qrels.tsv", "qrels.txt", f"qrels.{split}.txt", "qrels"
    )
    for name, path in (("queries", queries), ("judgements", qrels)):
        if path is None:
            raise UserError(
                f"{folder} has no file of {name}",
                hint="expected queries.jsonl (or topics) and qrels.tsv, qrels/SPLIT.tsv or "
                "qrels.txt, plain, .xz or .gz; --queries and --qrels name others",
            )
    assert queries is not None
    assert qrels is not None
    return JudgedFiles(find_file(folder, "corpus.jsonl"), queries, qrels)


def read_documents(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield line, id and record of each document; an id twice or a missing text is an error."""
    seen: set[str] = set()
    for number, record in json_records(path):
        key = _identifier(path, number, record)
        if key in seen:
            raise wrong_line(path, number, f"document {key!r} is there twice")
        seen.add(key)
        if "text" not in record:
            raise wrong_line(path, number, "'text' is missing: expected a text, which may be empty")
        for part in ("title", "text"):
            if not isinstance(record.get(part) or "", str):
                raise wrong_line(path, number, f"{part!r} is no text")
        if not isinstance(record.get("metadata") or {}, dict):
            raise wrong_line(path, number, "'metadata' is no object")
        yield number, key, record


def read_queries(path: Path) -> dict[str, str]:
    """Read queries by their ids: JSONL, id-tab-text lines, or TREC topics."""
    queries: dict[str, str] = {}
    for number, key, text in _raw_queries(path):
        if key in queries:
            raise wrong_line(path, number, f"query {key!r} is there twice")
        if not text.strip():
            raise wrong_line(path, number, f"query {key!r} has no text")
        queries[key] = storable_text(text)
    if not queries:
        raise UserError(f"{path} has no queries")
    return queries


def read_qrels(
    path: Path, queries: set[str], documents: set[str]
) -> tuple[dict[tuple[str, str], int], float]:
    """Read judgements: query, document and grade in three columns, or TREC's four.

    Ids must be known, and a pair may come once. Returns whole grades, and what the file's were
    multiplied by (whole_grades).
    """
    judgements: dict[tuple[str, str], Fraction] = {}
    for number, line in numbered_lines(path):
        columns = line.split("\t") if "\t" in line else line.split()
        if number == 1 and _is_header(columns):
            continue
        if len(columns) not in (3, 4):
            raise wrong_line(path, number, f"{len(columns)} columns, expected 3 (or TREC's 4)")
        query, document, grade = columns[0], columns[-2], columns[-1]
        if query not in queries:
            raise wrong_line(path, number, f"there is no query {query!r}")
        if document not in documents:
            raise wrong_line(path, number, f"there is no document {document!r}")
        if (query, document) in judgements:
            raise wrong_line(path, number, f"{query!r} and {document!r} are judged twice")
        judgements[query, document] = _grade(path, number, grade)
    if not any(grade > 0 for grade in judgements.values()):
        raise UserError(f"{path} has no judgement above 0", hint="nothing could be measured")
    return whole_grades(judgements)


def whole_grades(grades: Mapping[Key, Fraction]) -> tuple[dict[Key, int], float]:
    """Return grades as whole numbers of at most MAX_GRADE, and what they were multiplied by.

    Whole ones stay (1). Others are multiplied by the least number that makes all whole. Where that
    is too large, the largest becomes MAX_GRADE and others are rounded, none of them to 0. Metrics
    take gains as they are, so a common factor changes no nDCG.
    """
    scale = Fraction(lcm(*(grade.denominator for grade in grades.values())))
    largest = max(map(abs, grades.values()))
    if scale > 1 and scale * largest > MAX_GRADE:
        scale = MAX_GRADE / largest
    whole = {key: round(grade * scale) for key, grade in grades.items()}
    return {
        key: grade or (given > 0) - (given < 0)
        for (key, grade), given in zip(whole.items(), grades.values(), strict=True)
    }, float(scale)


def _is_header(columns: list[str]) -> bool:
    return columns[-1].strip().lower() in {"score", "relevance", "rel", "grade", "label"}


def _grade(path: Path, number: int, text: str) -> Fraction:
    value = Fraction(text.strip()) if _NUMBER_TEXT.fullmatch(text.strip()) else None
    if value is None or abs(value) > MAX_GRADE:
        raise wrong_line(path, number, f"grade {text!r}: expected a number, at most {MAX_GRADE}")
    return value


def _raw_queries(path: Path) -> Iterator[tuple[int, str, str]]:
    name = path.name.removesuffix(".xz").removesuffix(".gz")
    if name.endswith((".jsonl", ".json")):
        for number, record in json_records(path):
            text = record.get("text")
            if not isinstance(text, str):
                raise wrong_line(path, number, "'text' is no text")
            yield number, _identifier(path, number, record), text
        return
    lines = list(numbered_lines(path))
    if lines and lines[0][1].lstrip().lower().startswith("<top"):
        yield from _topics(path, lines)
        return
    for number, line in lines:
        key, separator, text = line.partition("\t")
        if not separator:
            raise wrong_line(path, number, "expected the query's id, a tab, and its text")
        yield number, _checked(path, number, key.strip()), text


def _topics(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Read TREC topics: the number and the title of each <top>."""
    text = "\n".join(line for _, line in lines)
    for match in _TOPIC_TAG.finditer(text):
        number = lines[text.count("\n", 0, match.start())][0]
        if not _TOPIC.match(text, match.start()):
            raise wrong_line(path, number, "<top> without </top> before the next <top>")
    for match in _TOPIC.finditer(text):
        number = lines[text.count("\n", 0, match.start())][0]
        key, title = _NUMBER.search(match[1]), _TITLE.search(match[1])
        if key is None or title is None:
            raise wrong_line(path, number, "a topic without <num> or <title>")
        yield number, key[1], " ".join(title[1].split())


def _identifier(path: Path, number: int, record: dict[str, Any]) -> str:
    return _checked(path, number, record.get("_id", record.get("id")))


def _checked(path: Path, number: int, value: object) -> str:
    """Return an id as text; one that no file of judgements can name is an error."""
    if isinstance(value, bool) or not isinstance(value, str | int) or str(value).strip() == "":
        raise wrong_line(path, number, "'_id' is missing: expected a text or a whole number")
    key = str(value)
    if storable_text(key) != key or any(character in key for character in "\t\r\n"):
        raise wrong_line(
            path, number, f"'_id' {key!r} has a character that no file of judgements can have"
        )
    return key
