"""Documents, vectors, questions and judgements for the benches.

`judged` and `mixed` have judgements and real vectors, so quality and time come from one run; `wiki`
has any number of passages, and vectors made of real ones.
"""

import itertools
import json
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from figures import DIMENSIONS
from numpy.typing import NDArray
from pgvector import Vector

from support.judged import plain, read_judged

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ENGLISH = (
    *("scifact", "cranfield", "cisi", "medline", "cacm"),
    *("npl", "cosqa_test", "twowiki", "xquad-en"),
)
LANGUAGES = {"xquad-de": "german"}
EACH = 60  # questions of each set in `mixed`
MOST = 300  # questions of one set
WIKI_PASSAGES = 167_671  # beyond these, the texts come again
WIKI_QUESTIONS = 200
BLOCK = 10_000


class Document(NamedTuple):
    """One document: its key, title, text, and a vector of length 1."""

    key: str
    title: str
    text: str
    vector: NDArray[np.float32]

    @property
    def whole(self) -> str:
        """Title and text, for systems that have one field."""
        return f"{self.title} {self.text}".strip()


@dataclass(frozen=True)
class Question:
    """A question and its vector."""

    key: str
    text: str
    vector: NDArray[np.float32]

    @cached_property
    def as_sql(self) -> str:
        """The vector as SQL text."""
        return str(Vector(self.vector).to_text())


@dataclass(frozen=True)
class Corpus:
    """Documents and questions; without judgements only time is measured."""

    name: str
    language: str
    size: int
    documents: Callable[[], Iterator[Document]]
    questions: list[Question]
    judgements: dict[str, dict[str, int]]
    with_vectors: int | None = None  # only the first so many have one
    dimensions: int = DIMENSIONS


def corpus_of(name: str) -> Corpus:
    """Return the corpus of a name: a judged set's, `mixed`, or a number of passages."""
    if name.isdigit():
        return wiki(int(name))
    return mixed() if name == "mixed" else judged(name)


def judged(name: str, most: int = MOST, prefix: str = "") -> Corpus:
    """Return a judged set with its ready vectors, and at most so many of its questions, evenly."""
    data = read_judged(DATA / "ir" / name)
    vectors = np.load(DATA / "vectors" / f"{name}.npz")
    of_query = dict(zip(map(str, vectors["query_ids"]), vectors["queries"], strict=True))
    keys = list(data.queries)[:: max(1, -(-len(data.queries) // most))]
    judgements: dict[str, dict[str, int]] = {f"{prefix}{key}": {} for key in keys}
    for judgement in data.judgements:
        if (key := f"{prefix}{judgement.query_id}") in judgements:
            judgements[key][f"{prefix}{judgement.doc_id}"] = judgement.relevance

    def documents() -> Iterator[Document]:
        by_key = dict(zip(map(str, vectors["corpus_ids"]), vectors["corpus"], strict=True))
        for key, title, text in data.documents:
            yield Document(f"{prefix}{key}", title, text, by_key[key].astype(np.float32))

    questions = [
        Question(f"{prefix}{key}", plain(data.queries[key]), of_query[key].astype(np.float32))
        for key in keys
    ]
    language = LANGUAGES.get(name, "english")
    return Corpus(name, language, len(data.documents), documents, questions, judgements)


def mixed() -> Corpus:
    """Return all English judged sets as one collection: what a set judges is hidden among others'.

    A document of another set that would be an answer too counts as none, for every system alike.
    """
    parts = [judged(name, EACH, f"{name}/") for name in ENGLISH]
    return Corpus(
        "mixed",
        "english",
        sum(part.size for part in parts),
        lambda: itertools.chain.from_iterable(part.documents() for part in parts),
        [question for part in parts for question in part.questions],
        {key: grades for part in parts for key, grades in part.judgements.items()},
    )


def wiki(
    passages: int,
    at_least: int = 0,
    questions: int = WIKI_QUESTIONS,
    with_vectors: int | None = None,
    dimensions: int = DIMENSIONS,
) -> Corpus:
    """Return the first passages of wiki_en; past its end they come again with words in turn.

    Each has at least so many characters: those of several of them. There are 1,000 questions.
    Vectors that are to be wider are repeated, so that cosines stay as they are.
    """

    def documents() -> Iterator[Document]:
        texts = enumerate(joined(endless_texts(), at_least))
        random = np.random.default_rng(5)
        for start in range(0, passages, BLOCK):
            made = mixtures(random, min(BLOCK, passages - start))
            for vector in widened(made, dimensions):
                place, text = next(texts)
                yield Document(str(place), "", text, vector)

    vectors = widened(mixtures(np.random.default_rng(6), questions), dimensions)
    texts = [row["text"] for row in queries_of("wiki_en")[:questions]]
    asked = [
        Question(str(place), text, vector)
        for place, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]
    name = f"long_{passages}" if at_least else f"wiki_{passages}"
    if with_vectors is not None:
        name += f"_of_{with_vectors}"
    if dimensions != DIMENSIONS:
        name += f"_wide_{dimensions}"
    return Corpus(name, "english", passages, documents, asked, {}, with_vectors, dimensions)


def wiki_texts(passages: int) -> Iterator[str]:
    """Give so many different texts."""
    return itertools.islice(endless_texts(), passages)


def endless_texts() -> Iterator[str]:
    """Give different texts without an end."""
    endless = itertools.chain.from_iterable(corpus_texts("wiki_en") for _ in itertools.count())
    for place, text in enumerate(endless):
        words = text.split()
        turn = place // WIKI_PASSAGES * 7 % max(1, len(words))
        yield " ".join(words[turn:] + words[:turn])


def joined(texts: Iterator[str], at_least: int) -> Iterator[str]:
    """Join texts that follow each other to some of at least so many characters."""
    parts: list[str] = []
    for text in texts:
        parts.append(text)
        if sum(map(len, parts)) >= at_least:
            yield " ".join(parts)
            parts = []


def corpus_texts(name: str) -> Iterator[str]:
    """Give a judged collection's documents, the title in front."""
    with lzma.open(DATA / "ir" / name / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield f"{row.get('title') or ''} {row['text']}".strip()


def queries_of(name: str) -> list[dict[str, str]]:
    """Return the queries of a judged collection."""
    path = DATA / "ir" / name / "queries.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@cache
def real_vectors() -> NDArray[np.float32]:
    """Return all vectors of the judged collections, a row each."""
    parts = [np.load(path)["corpus"] for path in sorted((DATA / "vectors").glob("*.npz"))]
    return np.concatenate(parts).astype(np.float32)


def mixtures(random: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Return vectors of length 1 between two real ones, moved a little."""
    real = real_vectors()
    pairs = random.integers(0, len(real), (2, count))
    share = random.uniform(0.5, 1, (count, 1)).astype(np.float32)
    mixed = share * real[pairs[0]] + (1 - share) * real[pairs[1]]
    mixed += random.normal(0, 0.2 / DIMENSIONS**0.5, mixed.shape).astype(np.float32)
    unit: NDArray[np.float32] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return unit


def widened(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """Repeat vectors until they are so wide, of length 1."""
    if dimensions == vectors.shape[1]:
        return vectors
    wide = np.tile(vectors, -(-dimensions // vectors.shape[1]))[:, :dimensions]
    unit: NDArray[np.float32] = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    return unit
