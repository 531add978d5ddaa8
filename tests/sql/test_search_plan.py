"""What a search runs by: made once for the same options and settings, and never out of date."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pgblend.plpy.lexical.pending import READ_CHUNKS
from support.database import Database, add_documents


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c', 'english')")
    add_documents(db, "c", [("one", "", "red wine"), ("two", "", "wine and more wine")])
    return db


def found(db: Database, **options: Any) -> list[str]:
    search = "SELECT source_key FROM hybrid_search('wine', collections => '{c}', options => %s)"
    return db.column(search, Jsonb({"mode": "fast"} | options))


@pytest.mark.parametrize("table", ["profile", "collection", "setting"])
def test_what_is_set_takes_effect_in_the_next_search(library: Database, table: str) -> None:
    changes = {
        "profile": "UPDATE pgblend_data.profile SET settings = %s WHERE name = 'balanced'",
        "collection": "UPDATE pgblend_data.collection SET settings = %s",
        "setting": "SELECT set_settings(%s)",
    }
    for min_score, expected in ((0, ["two", "one"]), (1, []), (None, ["two", "one"])):
        library.rows(changes[table], Jsonb({"min_score": min_score}))
        assert found(library) == expected
        assert found(library, min_score=1) == []


def test_a_configuration_that_was_dropped_is_noticed(library: Database) -> None:
    library.rows("CREATE TEXT SEARCH CONFIGURATION mine (COPY = simple)")
    assert found(library, language="mine") == []
    library.rows("DROP TEXT SEARCH CONFIGURATION mine")
    error = library.error(
        "SELECT * FROM hybrid_search('wine', options => %s)",
        Jsonb({"mode": "fast", "language": "mine"}),
    )
    assert error.sqlstate == "22023"
    assert '"language" is "mine"' in str(error.message_primary)


def test_a_mistake_is_one_each_time(library: Database) -> None:
    for _ in range(2):
        options = Jsonb({"weights": {"lexical": 0, "vector": 0}})
        error = library.error("SELECT * FROM hybrid_search('wine', options => %s)", options)
        assert "all 0" in str(error.message_primary)


def test_waiting_chunks_are_looked_up_by_their_key_alone(db: Database) -> None:
    """Where the planner believes that none waits, it takes any index that has their ids."""
    assert "pending_pkey" in plan_of_waiting(db)
    db.rows("ALTER TABLE pgblend_data.pending DROP CONSTRAINT pending_pkey")
    assert "Index" not in plan_of_waiting(db)


def plan_of_waiting(db: Database) -> str:
    """Return how a search reads waiting chunks, whatever it costs to read all."""
    db.rows("SET LOCAL plan_cache_mode = force_generic_plan")
    db.rows("SET LOCAL enable_seqscan = off")
    db.rows(f"PREPARE waiting (bigint[]) AS {READ_CHUNKS}")
    plan = db.column("EXPLAIN EXECUTE waiting('{1,2}')")
    db.rows("DEALLOCATE waiting")
    return "\n".join(plan)
