"""Files of judged sets: what is refused of them, and where it stands."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pgblend.cli.base.errors import UserError
from pgblend.cli.measure.judged_files import (
    check_covers,
    read_documents,
    read_qrels,
    read_queries,
    read_vectors,
)


@pytest.mark.parametrize(
    ("rows", "line", "problem"),
    [
        ([("q9", "d1", "1")], 2, "there is no query 'q9'"),
        ([("q1", "d1", "1"), ("q1", "d9", "1")], 3, "there is no document 'd9'"),
        ([("q1", "d1", "1"), ("q1", "d1", "2")], 3, "'q1' and 'd1' are judged twice"),
        ([("q1", "d1", "good")], 2, "grade 'good': expected a number"),
        ([("q1", "d1", "nan")], 2, "grade 'nan'"),
        ([("q1", "d1", "1/2")], 2, "grade '1/2'"),
        ([("q1", "d1", "1000.5")], 2, "at most 1000"),
        ([("q1", "d1", "1e9")], 2, "grade '1e9'"),
        ([("q1", "d1", "1_0")], 2, "grade '1_0'"),
        ([("q1", "d1", "1001")], 2, "at most 1000"),
        ([("q1", "d1", "1", "x", "y")], 2, "5 columns"),
        ([("q1",)], 2, "1 columns"),
    ],
)
def test_bad_judgements_are_refused_by_line(
    tmp_path: Path, rows: list[Any], line: int, problem: str
) -> None:
    path = tmp_path / "qrels.tsv"
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=re.escape(problem)) as error:
        read_qrels(path, {"q1"}, {"d1"})
    assert f"qrels.tsv, line {line}: " in error.value.message
    assert "nothing of the judged set was imported" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("corpus.jsonl", '{"_id": "d1", "text": "a"}\n{"_id": "d1", "text": "b"}\n', "line 2: "),
        ("corpus.jsonl", '{"_id": "d1", "text": 7}\n', "line 1: 'text' is no text"),
        ("corpus.jsonl", '{"_id": "d1", "text": "a"}\n\nnot json\n', "line 3: not valid JSON"),
        ("corpus.jsonl", "[1]\n", "line 1: expected a JSON object"),
        ("corpus.jsonl", '{"text": "a"}\n', "line 1: '_id' is missing"),
        ("queries.jsonl", '{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}\n', "line 2: "),
        ("queries.jsonl", '{"_id": "q1", "text": " "}\n', "line 1: query 'q1' has no text"),
        ("queries.jsonl", "", "has no queries"),
        ("queries.jsonl", '{"_id": "q\\t1", "text": "a"}\n', "line 1: '_id' 'q\\t1' has"),
        ("corpus.jsonl", '{"_id": "d\\u0000", "text": "a"}\n', "line 1: '_id' 'd\\x00' has"),
        ("corpus.jsonl", '{"_id": "d1", "contents": "a"}\n', "line 1: 'text' is missing"),
        ("queries.jsonl", "\ufeff\r\n\r\n", "has no queries"),
        ("qrels.tsv", "", "no judgement above 0"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t0\n", "no judgement above 0"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, text: str, problem: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    readers: dict[str, Callable[[], Any]] = {
        "corpus.jsonl": lambda: list(read_documents(path)),
        "queries.jsonl": lambda: read_queries(path),
        "qrels.tsv": lambda: read_qrels(path, {"q1"}, {"d1"}),
    }
    with pytest.raises(UserError, match=re.escape(problem)):
        readers[name]()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("topics.txt", b"<top><num>7<title>a\n<top><num>8<title>b</top>", "line 1: <top> without"),
        ("topics.txt", b"<top><num>7<title>a</top>\n<top><num>8", "line 2: <top> without"),
        ("topics.txt", b"<top><num>7</top>", "line 1: a topic without <num> or <title>"),
        ("queries.tsv", b"\tred wine\n", "line 1: '_id' is missing"),
        ("queries.tsv", b"q1\tcaf\xe9\n", "line 1: not UTF-8"),
        ("queries.jsonl.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff", "cannot read"),
        ("queries.jsonl.xz", b"\xfd7zXZ\0broken", "cannot read"),
    ],
)
def test_bad_queries_are_refused(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=re.escape(problem)):
        read_queries(tmp_path / name)


VECTORS: dict[str, Any] = {
    "corpus_ids": np.array(["d1", "d2"]),
    "corpus": np.eye(2, 4),
    "query_ids": np.array(["q1"]),
    "queries": np.ones((1, 4)),
}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"corpus": np.eye(1, 4)}, "corpus is (1, 4) for (2,) ids"),
        ({"corpus": np.ones(2)}, "corpus is (2,) for (2,) ids"),
        ({"queries": np.zeros((1, 4))}, "'q1' is zero"),
        ({"queries": np.full((1, 4), np.nan)}, "'q1' is zero or not finite"),
        ({"queries": np.ones((1, 3))}, "vectors have [3, 4] dimensions"),
        ({"corpus": np.eye(2, 4).astype(str)}, "expected real numbers"),
        ({"corpus_ids": np.array(["d1", "d1"])}, "two vectors of 'd1'"),
        ({"corpus_ids": np.array(["d1", None])}, "cannot read"),  # a pickle would run code
        ({"corpus_ids": np.array(["d1", "d3"])}, "no vector for 1 of 2 documents, such as 'd2'"),
        ({"query_ids": np.array(["q2"])}, "no vector for 1 of 1 queries, such as 'q1'"),
    ],
)
def test_bad_vectors_are_refused(tmp_path: Path, change: Any, problem: str) -> None:
    path = tmp_path / "vectors.npz"
    np.savez(path, **(VECTORS | change))
    with pytest.raises(UserError, match=re.escape(problem)):
        check_covers(read_vectors(path), {"d1", "d2"}, {"q1"}, path)


def test_what_is_no_file_of_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npz"
    np.savez(path, **VECTORS)
    check_covers(read_vectors(path), {"d1", "d2"}, {"q1"}, path)
    whole = path.read_bytes()
    for content in (b"", b"no archive", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(UserError, match="cannot read"):
            read_vectors(path)
    np.savez(path, corpus_ids=VECTORS["corpus_ids"])
    with pytest.raises(UserError, match="has no array 'corpus'"):
        read_vectors(path)
    np.save(tmp_path / "one.npy", VECTORS["corpus"])
    with pytest.raises(UserError, match="a single array"):
        read_vectors(tmp_path / "one.npy")


@pytest.mark.parametrize(
    ("grades", "stored", "scale"),
    [
        (["2", "0", "-1"], [2, 0, -1], 1),
        (["2.0", "+1."], [2, 1], 1),
        (["0.5", "1", "0"], [1, 2, 0], 2),
        (["0.25", "-.1", "1e0"], [5, -2, 20], 20),
        (["0.333", "0.667"], [333, 667], 1000),
        (["0.3333", "1e-9", "-1e-9", "1"], [333, 1, -1, 1000], 1000),
        (["0.00125", "0.0003"], [25, 6], 20_000),
        (["999.5", "0.1"], [1000, 1], 1000 / 999.5),
    ],
)
def test_grades_that_are_no_whole_numbers_are_scaled(
    tmp_path: Path, grades: list[str], stored: list[int], scale: float
) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("".join(f"q1\td{number}\t{text}\n" for number, text in enumerate(grades)))
    judgements, told = read_qrels(path, {"q1"}, {f"d{number}" for number in range(len(grades))})
    assert list(judgements.values()) == stored
    assert told == pytest.approx(scale)
