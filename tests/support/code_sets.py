"""Judged questions on whole files of source code: which function answers, and how it was found.

A question is judged by a function's place in its file, so that passages cut in any way compare.
"""

import ast
import inspect
import math
import random
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import psycopg
from psycopg.types.json import Jsonb

from pgblend.cli.documents import parse_code
from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.document import Document
from pgblend.cli.documents.parse_settings import ChunkSettings
from support.judged import plain, read_judged

_OF_A_MODULE = 25
_LONGEST = 10  # results that count
_FEWEST_CHARACTERS = 120


class CodeSet(NamedTuple):
    """Files by name, questions by key, and where the functions that answer begin and end."""

    files: dict[str, str]
    questions: dict[str, str]
    answers: dict[str, list[tuple[str, int, int]]]


def modules(folder: Path, most: int | None = None) -> CodeSet:
    """Put the functions of a judged set together to files of 25; ask the set's questions."""
    data = read_judged(folder)
    questions = {key: plain(text) for key, text in list(data.queries.items())[:most]}
    documents = list(data.documents)
    random.Random(3).shuffle(documents)
    files: dict[str, str] = {}
    places: dict[str, tuple[str, int, int]] = {}
    for start in range(0, len(documents), _OF_A_MODULE):
        name, text = f"module_{start // _OF_A_MODULE}.py", ""
        for key, _, function in documents[start : start + _OF_A_MODULE]:
            places[key] = (name, len(text), len(text) + len(function.rstrip()))
            text += function.rstrip() + "\n\n\n"
        files[name] = text
    answers: dict[str, list[tuple[str, int, int]]] = {}
    for judgement in data.judgements:
        if judgement.query_id in questions and judgement.relevance > 0:
            answers.setdefault(judgement.query_id, []).append(places[judgement.doc_id])
    return CodeSet(files, {key: questions[key] for key in answers}, answers)


def packages(names: tuple[str, ...], most: int) -> CodeSet:
    """Take the files of packages without docstrings; ask for functions by what theirs say."""
    files: dict[str, str] = {}
    asked: list[tuple[str, tuple[str, int, int]]] = []
    for name in names:
        spec = find_spec(name)
        assert spec is not None
        assert spec.submodule_search_locations
        root = Path(spec.submodule_search_locations[0])
        for path in sorted(root.rglob("*.py")):
            key = f"{name}/{path.relative_to(root)}"
            text, found = _without_docstrings(path.read_text(encoding="utf-8"))
            files[key] = text
            asked += [(question, (key, start, end)) for question, start, end in found]
    once = {q: place for q, place in asked if sum(q == other for other, _ in asked) == 1}
    chosen = random.Random(5).sample(sorted(once.items()), min(most, len(once)))
    return CodeSet(
        files,
        {str(number): question for number, (question, _) in enumerate(chosen)},
        {str(number): [place] for number, (_, place) in enumerate(chosen)},
    )


def _without_docstrings(source: str) -> tuple[str, list[tuple[str, int, int]]]:
    """Return a file without its functions' docstrings; of each its first sentence and place."""
    lines = source.splitlines(keepends=True)
    asked: list[tuple[str, ast.FunctionDef]] = []
    gone: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            said = node.body[0]
            assert said.end_lineno is not None
            if len(node.body) > 1 and node.body[1].lineno > said.end_lineno:
                gone.update(range(said.lineno - 1, said.end_lineno))
                first = re.split(r"(?<=\.)\s|\n\n", inspect.cleandoc(text))[0]
                asked.append((" ".join(first.split()), node))
    starts, length = [], 0
    for number, line in enumerate(lines):
        starts.append(length)
        length += 0 if number in gone else len(line)
    starts.append(length)
    kept = "".join(line for number, line in enumerate(lines) if number not in gone)
    found = []
    for question, node in asked:
        assert node.end_lineno is not None
        start, end = starts[node.lineno - 1], starts[node.end_lineno]
        if 5 <= len(question.split()) <= 30 and end - start > _FEWEST_CHARACTERS:
            found.append((question, start, end))
    return kept, found


def parse(name: str, text: str, by_lines: bool) -> Document:
    """Read a file of code, cut at functions or as without the grammars."""
    with patch.object(parse_code, "missing", lambda _: by_lines):
        document = parse_code.parse_code(text.encode(), Path(name).suffix)
    return replace(document, source_key=name, title=Path(name).name)


def store(connection: psycopg.Connection, collection: str, code: CodeSet, by_lines: bool) -> None:
    """Store the files; those cut at lines have no context, as before there were grammars."""
    connection.execute("SELECT blend.add_collection(%s)", [collection])
    for name, text in code.files.items():
        document = parse(name, text, by_lines)
        chunks = split_document(document, ChunkSettings())
        if by_lines:
            for chunk in chunks:
                chunk.pop("context", None)
        connection.execute(
            "SELECT blend.ingest_document(%s, %s, %s, title => %s, chunks => %s)",
            [collection, name, document.text, document.title, Jsonb(chunks)],
        )


def ndcg(
    connection: psycopg.Connection, collection: str, code: CodeSet, *profiles: str
) -> list[list[float]]:
    """Return for each profile the nDCG@10 of each question: has a passage the function?

    A passage has it that holds half of it, or of which it is half.
    """
    spans = {
        chunk_id: (start + own, end)
        for chunk_id, start, own, end in connection.execute(
            "SELECT chunk_id, start_offset, own_start, end_offset FROM blend.chunks"
            " WHERE collection = %s",
            [collection],
        )
    }
    found: list[list[float]] = [[] for _ in profiles]
    for key, question in code.questions.items():
        for profile, values in zip(profiles, found, strict=True):
            rows = connection.execute(
                "SELECT chunk_id, source_key, degraded FROM blend.hybrid_search("
                "%s, 30, ARRAY[%s], profile => %s)",
                [question, collection, profile],
            ).fetchall()
            if lacking := {problem for *_, problems in rows for problem in problems}:
                raise RuntimeError(f"{question!r} by {profile}: {lacking}: nothing is measured so")
            passages = [(name, *spans[chunk]) for chunk, name, _ in rows]
            values.append(_gain(passages, code.answers[key]))
    return found


def _gain(passages: list[tuple[str, int, int]], answers: list[tuple[str, int, int]]) -> float:
    """Return nDCG@10 where each function counts once, at the first passage that has it."""
    open_answers = list(answers)
    gains = []
    for passage in passages[:_LONGEST]:
        hits = [answer for answer in open_answers if _has(passage, answer)]
        open_answers = [answer for answer in open_answers if answer not in hits]
        gains.append(float(bool(hits)))
    best = sum(1 / math.log2(rank + 2) for rank in range(min(len(answers), _LONGEST)))
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains)) / best


def _has(passage: tuple[str, int, int], answer: tuple[str, int, int]) -> bool:
    common = min(passage[2], answer[2]) - max(passage[1], answer[1])
    least = min(passage[2] - passage[1], answer[2] - answer[1])
    return passage[0] == answer[0] and common >= least / 2
