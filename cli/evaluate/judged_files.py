"""Judged sets as files: BEIR folders (corpus, queries, qrels) and TREC topics and qrels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Any

from pgblend.cli.errors import UserError
from pgblend.cli.evaluate.lines import find_file, json_records, numbered_lines, wrong_line
from pgblend.cli.evaluate.vectors import Vectors
from pgblend.cli.ingest.document import storable_text

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

    Whole ones stay (1). Others are multiplied by the least number that makes all whole; where that
    is too large, so that the largest is MAX_GRADE, and rounded, of which none becomes 0. Metrics
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
