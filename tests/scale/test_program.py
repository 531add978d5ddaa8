"""The program over shards, run in this process, against the one that is deployed."""

import json
from collections.abc import Iterator
from itertools import count
from time import time
from typing import Any

import pytest

from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.search.query import Request
from pgblend.plpy.shards.relay import search_shards
from support.client_database import CoordinatorDatabase, coordinator_here
from support.shards import Scale

_numbers = count()

VECTOR = "[1,-2,3,-4,5,-6,7,-8]"
TEXTS = {
    "books": ("red wine", "red fox, red wine", "the sea", "wines of the sea"),
    "briefe": ("rote Häuser", "ein Haus am See", "roter Wein"),
    "rest": ("vin rouge", "wine"),
}
OPTIONS = [
    {},
    {"level": "document"},
    {"fuzzy": "on", "mmr": {"lambda": 0.4, "pool": 5}},
    {"lexical_method": "ts_rank_cd", "fuzzy_method": "word_similarity"},
    {"context_chars": {"before": 20, "after": 20}, "candidate_depth": 2},
    {"feedback": {"passages": 2, "weight": 0.5}, "other_languages": 0.5},
    {"graph": {"depth": 1}},
    {"synonyms": [{"words": ["wien", "red wine", "Haus"]}]},
    {
        "boosts": [{"filter": {"$title": "Wine"}, "factor": 3}],
        "decays": [{"field": "$date", "origin": "2026-01-01", "half": 99}],
        "pinned": [{"query": "*", "documents": ["k2", "k0"]}],
        "hidden": [{"query": "*", "documents": ["k1"]}],
    },
]


@pytest.fixture(scope="module")
def stored(two_shards: Scale) -> Scale:
    """Documents in three collections, some of them the same, all with vectors."""
    two_shards.clear()
    for collection, texts in TEXTS.items():
        for place, text in enumerate(texts):
            two_shards.add(collection, f"k{place}", text, "Wine" if place % 2 else "")
    two_shards.embed("s", 8)
    return two_shards


@pytest.fixture
def database(stored: Scale) -> Iterator[CoordinatorDatabase]:
    """Return the coordinator and its shards, in this process."""
    with coordinator_here(stored) as coordinator:
        yield coordinator


def found(database: CoordinatorDatabase, query: str, options: dict[str, Any]) -> list[Any]:
    asked = json.dumps(options | {"vector_scan": "exact"})
    request = Request(query, 10, None, None, None, asked, VECTOR, None, "none", time())
    rows = search_shards(database, request)["results"]
    return [(row.rank, row.chunk_id, row.score) for row in rows or ()]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=json.dumps)
@pytest.mark.parametrize("query", ["red wine", "wien", '"red fox" -sea', "nowhere"])
def test_it_finds_what_the_deployed_one_finds(
    stored: Scale, database: CoordinatorDatabase, query: str, options: dict[str, Any]
) -> None:
    deployed = stored.coordinator.rows(
        "SELECT rank, chunk_id, score FROM hybrid_search(%s, 10, options => %s,"
        " query_embedding => %s)",
        query,
        json.dumps(options | {"vector_scan": "exact"}),
        VECTOR,
    )
    assert found(database, query, options) == deployed
    assert found(database, query, options) == deployed  # statistics are known now


def test_an_unknown_space_is_an_error(database: CoordinatorDatabase) -> None:
    with pytest.raises(ProgramError, match="space"):
        found(database, "wine", {"space": "nobody"})


class Writing(CoordinatorDatabase):
    """Stores a document before one of its trips."""

    def __init__(self, of: CoordinatorDatabase, scale: Scale, before: int) -> None:
        super().__init__(scale.coordinator.url, of.shards)
        self.scale, self.left = scale, before

    def run(self, statement: str, types: list[str], *values: object) -> Any:
        if "_ask_shards" in statement:
            if self.left == 0:
                self.scale.add("books", f"new{next(_numbers)}", "red wein of the houses")
            self.left -= 1
        return super().run(statement, types, *values)


@pytest.mark.parametrize(
    "query",
    ["red wyne", *(pytest.param(one, marks=pytest.mark.slow) for one in ("wyne haus", "wien"))],
)
@pytest.mark.slow
def test_all_lists_are_of_one_moment(
    stored: Scale, database: CoordinatorDatabase, query: str
) -> None:
    """A document comes before the first trip, the second, …: rows are those of before or after."""
    options = {"fuzzy": "on", "weights": {"vector": 0}}
    is_over = False
    before = 0
    while not is_over:
        first = found(database, query, options)
        writing = Writing(database, stored, before)
        rows = found(writing, query, options)
        is_over = writing.left >= 0
        writing.connection.close()
        assert rows in [first, found(database, query, options)], before
        before += 1
    assert before > 3
