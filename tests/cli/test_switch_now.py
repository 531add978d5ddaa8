"""space switch --now: pairs, a matrix, searches by both spaces, and the end of it."""

import json
import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

from support.database import Database, add_documents
from support.model_provider import ModelProvider

Pgblend = Callable[..., Result]
PASSAGES = 320


def ok(result: Result) -> Result:
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def spaces(
    pgblend: Pgblend, gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> Database:
    """Passages of few words, a space that has all their vectors, and one that has none."""
    db = Database(gateway_connection)
    db.rows("SELECT add_collection('c')")
    chance = random.Random(3)
    words = [f"word{number}" for number in range(30)]
    texts = [" ".join(chance.sample(words, 6)) for _ in range(PASSAGES)]
    add_documents(db, "c", [(f"{place}", "", text) for place, text in enumerate(texts)])
    create = ["space", "create", "--model", model_provider.model]
    ok(pgblend(*create, "one", "--dimensions", "40", "--active"))
    ok(pgblend("space", "fill", "one"))
    ok(pgblend(*create, "two", "--dimensions", "48"))
    return db


def searched(pgblend: Pgblend, text: str) -> list[Any]:
    found = ok(pgblend("vsearch", text, "-n", "20", "--json"))
    return list(json.loads(found.stdout)["results"])


def test_searches_use_the_next_space_while_it_is_filled(pgblend: Pgblend, spaces: Database) -> None:
    switched = ok(pgblend("space", "switch", "two", "--now", "--pairs", "220")).stderr
    assert "embedding 200 passages takes about" in switched
    assert "searches use two, and one for the 100 passages that have no vector in it" in switched
    assert "by 220 passages that have both vectors, those keep " in switched
    rows = searched(pgblend, "word1 word2 word3")
    assert {row["details"]["space"] for row in rows} == {"one", "two"}
    again = ok(pgblend("space", "switch", "two", "--now")).stderr
    assert again.startswith("searches use two, and one for the 100 passages")
    assert '"bridged_from": "one"' in ok(pgblend("space", "list", "--json")).stdout
    told = ok(pgblend("status")).stdout
    assert "two (" in told
    assert "100 waiting, one answers for these" in told
    assert "100 chunks wait for their vector, and one answers" in pgblend("doctor").stdout
    assert "are found by embedding space" in pgblend("space", "drop", "one", "--yes").stderr
    ok(pgblend("space", "fill", "two"))
    whole = searched(pgblend, "word1 word2 word3")
    assert not any("space" in row["details"] for row in whole)
    kept = {row["chunk_id"] for row in rows[:10]} & {row["chunk_id"] for row in whole[:10]}
    assert len(kept) >= 9
    assert ok(pgblend("space", "switch", "two", "--now")).stderr == "searches use two\n"


@pytest.mark.extended
def test_a_space_with_all_vectors_needs_no_matrix(pgblend: Pgblend, spaces: Database) -> None:
    switched = ok(pgblend("space", "switch", "two", "--now")).stderr
    assert switched.endswith("searches use two instead of one\n")
    assert spaces.rows("SELECT FROM pgblend_data.space_bridge") == []


@pytest.mark.extended
def test_a_loss_is_told_and_vectors_stay(
    pgblend: Pgblend, spaces: Database, model_provider: ModelProvider
) -> None:
    model = ["--model", model_provider.model]
    ok(pgblend("space", "create", "tiny", *model, "--dimensions", "2", "--active"))
    ok(pgblend("space", "fill", "tiny"))
    refused = pgblend("space", "switch", "two", "--now", "--pairs", "200")
    assert refused.exit_code == 1
    assert 'vectors of "tiny" cannot stand in for those of "two"' in refused.stderr
    assert "pgblend space fill two" in refused.stderr
    assert spaces.value("SELECT count(*) FROM pgblend_data.embedding_two") == 200
    assert spaces.value("SELECT name FROM embedding_spaces WHERE active") == "tiny"
    assert (
        "there is no embedding space 'nope'" in pgblend("space", "switch", "nope", "--now").stderr
    )
