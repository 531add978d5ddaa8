"""Readers: searches by SQL through pgbouncer and by HTTP, each held against the record."""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any

import httpx

from soak.record import Key, State, settled
from soak.run import Run
from soak.session import AwayError, Session
from soak.texts import WORDS, tag_of

LIMIT = 10
OPTIONS = {"dedup": "off"}
SERVICE_UNAVAILABLE = 503
_SEARCH = """
    SELECT rank, score, chunk_id, collection, source_key, content, degraded
    FROM {}(%s, %s, options => %s)
"""
FUNCTIONS = ("lexical_search", "lexical_search", "hybrid_search", "hybrid_search", "vector_search")


@dataclass(frozen=True)
class Row:
    """A row of a search."""

    rank: int
    score: float
    chunk_id: int
    key: Key
    content: str


Answer = tuple[list[Row], list[str]]  # and what the search went without
Ask = Callable[[str], Answer]


def read_sql(run: Run, session: Session, chance: random.Random) -> str:
    """Search once by SQL."""
    function = chance.choice(FUNCTIONS)

    def ask(query: str) -> Answer:
        found = session.rows(_SEARCH.format(function), query, LIMIT, json.dumps(OPTIONS))
        rows = [
            Row(rank, score, chunk_id, (collection, key), content)
            for rank, score, chunk_id, collection, key, content, _ in found
        ]
        return rows, found[0][6] if found else []

    search(run, chance, ask, finds_words=function != "vector_search")
    return function


class HttpReader:
    """Searches through `pgblend serve`, on connections that stay open."""

    def __init__(self, run: Run) -> None:
        self._client = run.site.door.client(run.site.token)

    def step(self, run: Run, session: Session, chance: random.Random) -> str:
        """Search once."""
        search(run, chance, self._ask, finds_words=True)
        return "POST /v1/search"

    def _ask(self, query: str) -> Answer:
        body = {"query": query, "limit": LIMIT, "options": OPTIONS}
        response = self._client.post("/v1/search", json=body)
        if response.status_code == SERVICE_UNAVAILABLE:
            raise AwayError(response.text)
        if response.status_code != httpx.codes.OK:
            raise RuntimeError(f"{response.status_code}: {response.text}")
        answer: dict[str, Any] = response.json()
        rows = [
            Row(
                row["rank"],
                row["score"],
                row["chunk_id"],
                (row["collection"], row["source_key"]),
                row["content"],
            )
            for row in answer["results"]
        ]
        return rows, answer["degraded"]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def search(run: Run, chance: random.Random, ask: Ask, finds_words: bool) -> None:
    """Search for one document, for one that is gone, or for common words; hold it to the record."""
    before = run.record.snapshot()
    target = _target(before, chance)
    if target and chance.random() < 0.6:
        query = tag_of(before[target].chunks)
    elif run.gone and chance.random() < 0.5:
        target, query = None, chance.choice(run.gone)
    else:
        target, query = None, " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))
    begin = run.findings.now
    rows, degraded = ask(query)
    after = run.record.snapshot()
    is_excused = run.findings.was_broken_since(begin)
    if not is_excused:
        run.findings.note_degraded(degraded)
    wrong = [
        *wrong_order(rows),
        *wrong_rows(rows, before, after),
        *(missing(rows, before, after, target) if target and finds_words else []),
    ]
    # A search that a fault made do without words finds less, and says so.
    if wrong and not (is_excused and degraded):
        run.findings.problem(f"{query!r}: {'; '.join(wrong)}; degraded: {degraded}")


def _target(states: dict[Key, State], chance: random.Random) -> Key | None:
    certain = [key for key, state in states.items() if state.is_certain and state.chunks]
    return chance.choice(certain) if certain else None


def wrong_order(rows: list[Row]) -> list[str]:
    """Return what is wrong with ranks and scores, and which passages stand there twice."""
    wrong = []
    if [row.rank for row in rows] != list(range(1, len(rows) + 1)):
        wrong.append(f"ranks {[row.rank for row in rows]}")
    if any(later.score > row.score for row, later in pairwise(rows)):
        wrong.append(f"scores {[row.score for row in rows]}")
    for name, of in (("passage", attrgetter("chunk_id")), ("text", attrgetter("key", "content"))):
        counted = Counter(map(of, rows))
        twice = [row for row in rows if counted[of(row)] > 1]
        if twice:
            wrong.append(f"a {name} twice: {twice}")
    return wrong


def wrong_rows(rows: list[Row], before: dict[Key, State], after: dict[Key, State]) -> list[str]:
    """Return rows that no document had when the search ran."""
    wrong = []
    for row in rows:
        chunks = settled(before, after, row.key)
        if chunks is not None and row.content not in chunks:
            wrong.append(f"found {row.key} with {row.content!r}, where there is {chunks}")
    return wrong


def missing(
    rows: list[Row], before: dict[Key, State], after: dict[Key, State], target: Key
) -> list[str]:
    """Return passages of the document searched for that were not found."""
    chunks = settled(before, after, target)
    if chunks is None:
        return []
    lacking = set(chunks) - {row.content for row in rows if row.key == target}
    return [f"{target} lacks {text!r}" for text in sorted(lacking)]
