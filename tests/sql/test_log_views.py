"""The views on the search log and the ledger of model calls, and who may read and write them."""

from collections.abc import Callable

import psycopg
import pytest

from support.database import Database
from support.search_log import HOUR, log_search

DAY = HOUR.replace(hour=0)


def spend(
    db: Database,
    model: str,
    ms: float,
    outcome: str,
    cost: float | None,
    task: str = "expansion",
) -> None:
    db.rows(
        "INSERT INTO pgblend_data.model_call (called_at, task, model, provider, outcome, attempts,"
        " input_tokens, output_tokens, cost_usd, milliseconds)"
        " VALUES (%s, %s, %s, 'openai', %s, 1, 10, 5, %s, %s)",
        HOUR,
        task,
        model,
        outcome,
        cost,
        ms,
    )


@pytest.fixture
def logged(db: Database) -> Database:
    db.rows("SET timezone = 'UTC'")
    log_search(db, 0, 10, stages=[{"name": "lexical", "ms": 1}, {"name": "rerank", "skipped": "x"}])
    log_search(db, 1, 20, stages=[{"name": "lexical", "ms": 3}], degraded=["vector: no gateway"])
    log_search(db, 2, 30, result_count=0, query=" Red   WINE ", mode="thorough",
        degraded=["vector: no gateway", "rerank: late"])  # fmt: skip
    log_search(db, 59, 40, result_count=0, query=None, mode="thorough")
    log_search(db, 3, 99, result_count=0, purpose="evaluation",
        stages=[{"name": "lexical", "ms": 99}], degraded=["vector: no gateway"])  # fmt: skip
    return db


def test_volume(logged: Database) -> None:
    assert logged.rows("SELECT * FROM search_volume ORDER BY mode") == [
        (HOUR, "balanced", "fast", 2, 0, 1, 0.5),
        (HOUR, "balanced", "thorough", 2, 2, 1, 0.5),
    ]


def test_latency(logged: Database) -> None:
    query = "SELECT stage, searches, p50_ms, p95_ms, max_ms FROM search_latency ORDER BY stage"
    assert logged.rows(query) == [
        ("lexical", 2, 2.0, pytest.approx(2.9), 3.0),
        (None, 4, 25.0, pytest.approx(38.5), 40.0),
    ]


def test_queries_without_results(logged: Database) -> None:
    assert logged.rows("SELECT * FROM queries_without_results") == [
        ("red wine", 1, HOUR.replace(minute=2))
    ]


def test_degraded(logged: Database) -> None:
    assert logged.rows("SELECT * FROM degraded_searches ORDER BY stage") == [
        (DAY, "rerank", 1, 0.25, "rerank: late"),
        (DAY, "vector", 2, 0.5, "vector: no gateway"),
    ]


def test_costs(db: Database) -> None:
    db.rows("SET timezone = 'UTC'")
    spend(db, "a", 100, "ok", 0.5)
    spend(db, "a", 300, "ok", None, "hyde")  # by expansion_model, as `models list` says
    spend(db, "a", 200, "provider_timeout", None)
    assert db.rows("SELECT * FROM model_costs") == [
        (DAY, "expansion", "a", 3, 1, 30, 15, 0.5, 1, 200.0, pytest.approx(290)),
    ]


@pytest.mark.parametrize("table", ["search_log", "model_call", "model_answer"])
def test_only_admins_read_the_logs(
    logged: Database, connect_as: Callable[..., psycopg.Connection], table: str
) -> None:
    for role in ("pgblend_reader", "pgblend_writer"):
        with (
            connect_as(role) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(f"SELECT FROM pgblend_data.{table}")  # type: ignore[call-overload]


def test_what_the_gateway_may_do(catalogue_rights: set[tuple[str, str]]) -> None:
    assert catalogue_rights == {
        ("click", "DELETE"),
        ("model_answer", "DELETE"),
        ("model_answer", "INSERT"),
        ("model_answer", "SELECT"),
        ("model_call", "DELETE"),
        ("model_call", "INSERT"),
        ("search_log", "DELETE"),
        ("search_log", "INSERT"),
    }


@pytest.fixture
def catalogue_rights(db: Database) -> set[tuple[str, str]]:
    rows = db.rows(
        "SELECT c.relname, p FROM pg_class AS c"
        " CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS p"
        " WHERE relnamespace::regnamespace::text IN ('blend', 'pgblend', 'pgblend_data')"
        " AND relkind IN ('r', 'v') AND has_table_privilege('pgblend_gateway', c.oid, p)"
    )
    return {(str(table), str(privilege)) for table, privilege in rows}
