"""An analyst sees how searches went, and texts and results of those it could have made alone."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from support.catalogue import granted_to
from support.database import Database, add_documents
from support.search_log import HOUR, log_search

HIDDEN = "who is let go on monday"
TEXTS = ("searched_by", "query", "collections", "degraded", "top_score", "results")


@pytest.fixture
def analyst(
    committed: Database, connect_as: Callable[..., psycopg.Connection]
) -> Iterator[Database]:
    """It may read `open`, not `secret`; both are older than what is logged."""
    for name in ("open", "secret"):
        committed.rows("SELECT add_collection(%s)", name)
        add_documents(committed, name, [("one", "", "a red fox")])
    committed.rows("UPDATE pgblend_data.collection SET created_at = %s", HOUR)
    analyst = Database(connect_as("pgblend_analyst"))
    role = analyst.connection.info.user
    committed.rows("SELECT grant_collection('open', %s)", role)
    yield analyst
    analyst.forget()


def log(db: Database, *collections: str, **fields: Any) -> str:
    """Log a search whose every text would give it away."""
    texts = {
        "query": HIDDEN,
        "role_name": "hidden role",
        "degraded": [f"rerank: {HIDDEN}"],
        "results": [
            {"rank": 1, "chunk_id": 471104711047110, "document_id": 471204712047120, "score": 1}
        ],
        "top_score": 0.4713,
        "result_count": 0,
        "stages": [{"name": "lexical", "ms": 2, "rows": 1}],
    }
    return log_search(db, 5, collections=list(collections), **{**texts, **fields})


def told(db: Database, search_id: str) -> bool:
    """Whether the texts of a search are told: all of them or none."""
    shown = db.row(
        f"SELECT may_read, {', '.join(TEXTS)} FROM searches WHERE search_id = %s", search_id
    )
    may_read, *texts = shown
    assert {text is not None for text in texts} == {may_read}
    return bool(may_read)


@pytest.mark.parametrize(
    ("collections", "expected"),
    [
        (["open"], True),
        (["secret"], False),
        (["open", "secret"], False),
        (["open", "removed"], False),
        ([], False),
        (["open"] * 49, True),
        (["open"] * 50, False),  # as many as the log keeps: there may have been more
    ],
)
def test_texts_are_told_where_all_collections_may_be_read(
    committed: Database, analyst: Database, collections: list[str], expected: bool
) -> None:
    search_id = log(committed, *collections)
    assert told(analyst, search_id) is expected
    assert told(committed, search_id)


def test_a_name_that_the_log_cut_is_no_name(committed: Database, analyst: Database) -> None:
    long = "x" * 100
    committed.rows("SELECT add_collection(%s)", long)
    committed.rows("SELECT grant_collection(%s, %s)", long, analyst.connection.info.user)
    committed.rows("UPDATE pgblend_data.collection SET created_at = %s", HOUR)
    assert not told(analyst, log(committed, long))


def test_a_collection_made_anew_under_a_name_is_another(
    committed: Database, analyst: Database
) -> None:
    """What was searched in the one that was removed stays hidden."""
    search_id = log(committed, "open")
    assert told(analyst, search_id)
    committed.rows("SELECT remove_collection('open')")
    committed.rows("SELECT add_collection('open')")
    committed.rows("SELECT grant_collection('open', %s)", analyst.connection.info.user)
    assert not told(analyst, search_id)


def test_counts_and_times_are_of_all_searches(committed: Database, analyst: Database) -> None:
    for collections in (["open"], ["secret"], ["secret"]):
        log(committed, *collections)
    for query in (
        "SELECT * FROM search_volume",
        "SELECT * FROM search_latency ORDER BY stage",
        "SELECT day, stage, searches, share FROM degraded_searches",
        "SELECT * FROM model_costs",
        "SELECT * FROM search_stages ORDER BY search_id",
        "SELECT milliseconds, stages, result_count, degraded_stages FROM searches",
    ):
        assert analyst.rows(query) == committed.rows(query), query
    assert analyst.value("SELECT sum(searches) FROM search_volume") == 3
    assert analyst.rows("SELECT query, searches FROM queries_without_results") == [(HIDDEN, 1)]


def test_results_are_of_searches_that_are_told(committed: Database, analyst: Database) -> None:
    log(committed, "secret")
    search_id = log(committed, "open")
    expected = [(HIDDEN, 1, 471104711047110, 471204712047120, 1.0)]
    query = "SELECT query, rank, chunk_id, document_id, score FROM search_results"
    assert analyst.rows(query) == expected
    assert str(analyst.value("SELECT search_id FROM search_results")) == search_id
    assert committed.rows(query) == expected * 2


def test_nothing_that_it_can_read_tells_a_hidden_text(
    committed: Database, analyst: Database
) -> None:
    log(committed, "secret")
    committed.rows("ANALYZE pgblend_data.search_log")
    tables = analyst.column(
        "SELECT c.oid::regclass::text FROM pg_class AS c WHERE relkind IN ('r', 'v', 'm')"
        " AND relnamespace::regnamespace::text IN"
        " ('blend', 'pgblend', 'pgblend_data', 'pg_catalog', 'information_schema')"
        " AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1"
    )
    assert {"searches", "pg_stats"} <= {table.rpartition(".")[2] for table in tables}
    for table in tables:
        if table.rpartition(".")[2] in ("pg_stat_activity", "pg_cursors"):
            continue  # what this session itself runs
        assert (
            analyst.rows(
                f"SELECT t FROM {table} AS t WHERE t::text ~ %s",
                f"{HIDDEN}|471104711047110|hidden role",
            )
            == []
        ), table
    assert analyst.rows("SELECT FROM pg_stats WHERE tablename = 'search_log'") == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM searches WHERE tell(query)",
        "SELECT count(*) FROM searches WHERE tell(results::text)",
        "SELECT count(*) FROM searches AS s WHERE tell(s::text)",
        "SELECT count(*) FROM searches WHERE query @@@ 'x'",
        "SELECT count(*) FROM queries_without_results WHERE tell(query)",
        "SELECT count(*) FROM degraded_searches WHERE tell(most_often)",
        "SELECT count(*) FROM searches WHERE query::integer = 1 OR tell(searched_by)",
    ],
)
def test_a_function_of_its_own_is_told_nothing(
    committed: Database, analyst: Database, query: str
) -> None:
    """One that costs nothing would run before the view's own conditions, were there no barrier."""
    log(committed, "secret")
    analyst.rows(
        "CREATE FUNCTION pg_temp.tell(given text) RETURNS boolean LANGUAGE plpgsql COST 0.0001"
        " AS $$BEGIN RAISE WARNING 'told %', given; RETURN true; END$$"
    )
    analyst.rows(
        "CREATE FUNCTION pg_temp.tell(given text, other text) RETURNS boolean LANGUAGE plpgsql"
        " COST 0.0001 AS $$BEGIN RETURN pg_temp.tell(given); END$$"
    )
    analyst.rows(
        "CREATE OPERATOR pg_temp.@@@ (LEFTARG = text, RIGHTARG = text,"
        " FUNCTION = pg_temp.tell, RESTRICT = eqsel)"
    )
    query = query.replace("tell(", "pg_temp.tell(").replace("@@@", "OPERATOR(pg_temp.@@@)")
    analyst.rows(query)
    warnings = analyst.warnings()
    for hidden in (HIDDEN, "471104711047110", "hidden role"):
        assert not [warning for warning in warnings if hidden in warning]


@pytest.mark.parametrize("role", ["pgblend_reader", "pgblend_writer"])
def test_others_see_no_searches(
    committed: Database, connect_as: Callable[..., psycopg.Connection], role: str
) -> None:
    other = Database(connect_as(role))
    for view in ("searches", "search_volume", "search_latency", "model_costs"):
        assert other.error(f"SELECT FROM {view}").sqlstate == "42501"


def test_an_analyst_writes_nothing(analyst: Database) -> None:
    tables = "SELECT c.oid::regclass::text FROM pg_class AS c WHERE relkind = 'r'"
    ours = " AND relnamespace::regnamespace::text IN ('blend', 'pgblend', 'pgblend_data')"
    rights = " AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')"
    assert analyst.column(tables + ours + rights) == []
    assert analyst.error("SELECT FROM pgblend_data.search_log").sqlstate == "42501"


def test_an_analyst_calls_what_a_reader_may(committed: Database) -> None:
    more = (
        "SELECT p.oid::regprocedure FROM pg_proc AS p"
        f" WHERE {granted_to('pgblend_analyst')} AND NOT {granted_to('pgblend_reader')}"
    )
    assert committed.column(more) == ["_readable_collections()"]
