"""warm reads what searches read, and doctor tells a server that has not."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

from support.database import Database

Pgblend = Callable[..., Result]
HNSW = "pgblend_data.embedding_test_embedding_hnsw"
DOCUMENTS = 3
WORDS = 12_000


@pytest.fixture
def library(connection: psycopg.Connection) -> Database:
    """Vectors of a page each."""
    db = Database(connection)
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT create_embedding_space('test', 'openai/test', 2000, probe => false)")
    db.rows(
        "SELECT ingest_document('c', i::text, repeat(format('text %%s ', i), %s))"
        " FROM generate_series(1, %s) AS i",
        WORDS,
        DOCUMENTS,
    )
    db.rows(
        "CREATE TEMP TABLE embedding_stage AS SELECT c.id AS chunk_id,"
        " (SELECT array_agg(random() - 0.5 + c.id * 0 ORDER BY d) FROM generate_series(1, 2000)"
        " AS d)::vector AS embedding FROM pgblend_data.chunk AS c"
    )
    db.rows("SELECT pgblend._store_embeddings('test')")
    return db


def make_cold(db: Database) -> None:
    """Move the index, which drops its pages from shared_buffers."""
    db.rows("SET allow_in_place_tablespaces = on")
    db.rows("CREATE TABLESPACE pgblend_cold LOCATION ''")
    db.rows(f"ALTER INDEX {HNSW} SET TABLESPACE pgblend_cold")
    db.rows(f"ALTER INDEX {HNSW} SET TABLESPACE pg_default")
    db.rows("DROP TABLESPACE pgblend_cold")


@pytest.mark.slow
def test_a_cold_server_is_told_and_warmed(
    pgblend: Pgblend, parse_valid: Callable[[Result, str], Any], library: Database
) -> None:
    def memory() -> Any:
        checks = parse_valid(pgblend("doctor", "--json"), "doctor")["checks"]
        return next(check for check in checks if "memory" in check["name"])

    make_cold(library)
    cold = memory()
    assert (cold["status"], cold["mend"]) == ("warning", "run: pgblend warm")
    library.rows("CREATE EXTENSION pg_prewarm")
    make_cold(library)
    (session, *parts) = parse_valid(pgblend("warm", "--json"), "warm")["parts"]
    assert session["part"] == "session"
    assert {part["memory"] for part in parts} == {"shared_buffers"}
    assert " 0 of them" in memory()["found"].replace(",", "")
