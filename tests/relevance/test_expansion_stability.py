"""The same question is always expanded alike, so a thorough search gives the same rows again."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from support.database import Database
from support.model_library import WEAK, fill, search, use_models
from support.model_provider import GatewayProcess, ModelProvider

QUERIES = [f"how do I deploy part {number} to production" for number in range(20)]
LONG = dict.fromkeys(("embed", "lexical", "expand", "rerank", "total"), 60000)
THOROUGH = {"mode": "thorough", "timeouts_ms": LONG, **WEAK}


@pytest.fixture(scope="module")
def filled(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    fill(db)
    return db


@pytest.fixture(scope="module")
def gateway(session_provider: ModelProvider) -> Iterator[GatewayProcess]:
    """A gateway as it is by default: the one that tests share keeps no answers."""
    with GatewayProcess(provider=session_provider) as process:
        yield process


@pytest.fixture
def db(
    filled: Database, gateway: GatewayProcess, model_provider: ModelProvider
) -> Iterator[Database]:
    """A library whose chat model never says the same twice."""
    with filled.connection.transaction(force_rollback=True):
        use_models(filled, gateway, model_provider)
        numbers = itertools.count()

        def reply(_: dict[str, Any]) -> str:
            words = f"deploy the release {next(numbers)}"
            return json.dumps(
                {"lexicalQueries": [words], "vectorQueries": [words], "hyde": words, "notes": ""}
            )

        model_provider.reply = reply
        filled.warnings()
        yield filled


def expand(db: Database, query: str) -> dict[str, Any]:
    told: dict[str, Any] = db.value("SELECT expand_query(%s, timeout_ms => 60000)", query)
    return told


@pytest.mark.slow
def test_all_queries_are_expanded_as_before(db: Database, model_provider: ModelProvider) -> None:
    first = {query: expand(db, query) for query in QUERIES}
    assert len({json.dumps(told["lexicalQueries"]) for told in first.values()}) == len(QUERIES)
    assert {told["cached"] for told in first.values()} == {False}
    asked = model_provider.requests
    again = {query: expand(db, query) for query in reversed(QUERIES)}
    alike = [again[query] == first[query] | {"cached": True} for query in QUERIES]
    assert sum(alike) / len(alike) == 1.0
    assert model_provider.requests == asked == len(QUERIES)


@pytest.mark.slow
def test_a_thorough_search_gives_the_same_rows_again(db: Database) -> None:
    query = "how do I deploy all parts to production"
    columns = "chunk_id, rank, score, relevance, arms, degraded"
    first, again = (search(db, columns, THOROUGH, query=query) for _ in range(2))
    assert first == again
    assert {"lexical_variant_1", "vector_variant_1", "hyde"} <= set().union(
        *(row[4] for row in first)
    )
    assert first[0][5] == []
