"""Locks that other roles hold: keys that a reader guesses, rows and tables that a writer locks."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from pgblend.cli.base.errors import UserError
from pgblend.migrations import runner
from support.database import Database, add_documents, add_space
from support.model_library import QUERY, WEAK, fill, use_models
from support.model_provider import Behaviour, GatewayProcess, ModelProvider
from support.places import places_taken
from support.server import temporary_cluster
from support.waiting import wait_until

Connect = Callable[..., psycopg.Connection]
# Set by the test: what waits for a lock is an error, not a test that hangs.
PATIENCE = "SET lock_timeout = '20s'"
HELD = (
    "SELECT CASE l.objsubid WHEN 1 THEN (l.classid::bigint << 32 | l.objid::bigint)::text"
    " ELSE format('%s, %s', l.classid::bigint::integer, l.objid::bigint::integer) END"
    " FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.pid <> pg_backend_pid()"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
# Keys that anybody could guess.
GUESSED = """
    SELECT pg_try_advisory_lock(k) FROM (
        SELECT 70939520000 + n AS k FROM generate_series(0, 63) AS n
        UNION ALL SELECT hashtextextended('pgblend seal', n) FROM generate_series(1, 20) AS n
        UNION ALL SELECT hashtextextended('pgblend vocabulary', n) FROM generate_series(1, 20) AS n
        UNION ALL
        SELECT hashtextextended(format('pgblend summary %s', n), 0)
        FROM generate_series(1, 20) AS n
    ) AS keys
"""
GUESSED_PAIRS = "SELECT pg_try_advisory_lock(1885823596, n) FROM generate_series(0, 20) AS n"
ROW_LOCKS = ("KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE")
TABLE_LOCKS = (
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
)
# What PostgreSQL lets everybody lock who reads, or adds rows: as long as a statement runs, searches
# and writers lock no more, and wait for none of these.
OF_READERS = {"ACCESS SHARE", "ROW SHARE"}
OF_ADDERS = {*OF_READERS, "ROW EXCLUSIVE"}
TABLES = (
    "SELECT c.relname::text FROM pg_class AS c WHERE c.relkind = 'r'"
    " AND c.relnamespace = 'pgblend_data'::regnamespace ORDER BY 1"
)


@dataclass
class Thief:
    """A reader who takes every key that is seen or guessed, alone and, where not, shared."""

    reader: Database
    seen: set[str] = field(default_factory=set)

    def take_all(self) -> int:
        """Take them, with those that were seen before; return how many are held just now."""
        self.reader.rows(GUESSED)
        self.reader.rows(GUESSED_PAIRS)
        held = self.reader.column(HELD)
        self.seen.update(held)
        for keys in self.seen:
            self.reader.rows(f"SELECT pg_try_advisory_lock({keys})")
            self.reader.rows(f"SELECT pg_try_advisory_lock_shared({keys})")
        return len(held)


@pytest.fixture
def thief(committed: Database, connect_as: Connect) -> Thief:
    """A reader of nothing, who took what could be guessed before anybody came."""
    committed.rows(PATIENCE)
    thief = Thief(Database(connect_as("pgblend_reader")))
    thief.take_all()
    return thief


@pytest.fixture
def library(committed: Database) -> Database:
    """A collection with some documents."""
    committed.rows("SELECT add_collection('c')")
    add_documents(committed, "c", [(k, "", f"walrus of {k}") for k in "klm"])
    return committed


@pytest.fixture
def other(committed: Database) -> Iterator[Database]:
    """A second session of the superuser's."""
    with connect(committed.url) as connection:
        connection.execute(PATIENCE)
        yield Database(connection)


@pytest.mark.extended
def test_nobodys_model_calls_stop(
    committed: Database, gateway: GatewayProcess, model_provider: ModelProvider, thief: Thief
) -> None:
    fill(committed)
    use_models(committed, gateway, model_provider)
    committed.rows("""SELECT set_setting('model_calls', '{"most": 1}')""")
    options = json.dumps({"mode": "thorough", **WEAK})
    thief.take_all()
    rows = committed.rows(
        "SELECT degraded, arms FROM hybrid_search(%s, options => %s)", QUERY, options
    )
    assert {tuple(row[0]) for row in rows} == {()}
    assert {"lexical", "vector", "rerank"} <= set().union(*(row[1] for row in rows))
    assert places_taken(committed) == 0


def test_sealing_goes_on(library: Database, other: Database, thief: Thief) -> None:
    with other.connection.transaction():
        other.rows("SELECT lexical_rebuild('c')")
        assert thief.take_all() == 0  # nothing to be seen
        assert library.value("SELECT status FROM lexical_status('c')") == "building"
    assert library.value("SELECT status FROM lexical_status('c')") == "ready"
    library.rows("SELECT delete_document('c', 'k')")
    add_documents(library, "c", [("n", "", "a narwhal")])
    assert library.value("SELECT lexical_seal('c')") == 1
    words = "SELECT lexeme::text FROM pgblend_data.vocabulary ORDER BY 1"
    assert "k" in library.column(words)
    assert library.value("SELECT lexical_rebuild('c')") == 3
    assert library.column(words) == ["l", "m", "narwhal", "walrus"]  # made anew, each word once
    assert library.value("SELECT remove_collection('c')") is True
    assert library.warnings() == []


def test_a_vocabulary_is_not_made_anew_while_words_are_added(
    library: Database, other: Database
) -> None:
    words = "SELECT lexeme::text FROM pgblend_data.vocabulary ORDER BY 1"
    library.rows("SELECT delete_document('c', 'k')")
    with other.connection.transaction():
        add_documents(other, "c", [("n", "", "a walrus")])  # its words are there
        assert library.value("SELECT lexical_rebuild('c')") == 2
        assert "k" in library.column(words)
    assert library.value("SELECT lexical_rebuild('c')") == 3
    assert library.column(words) == ["l", "m", "walrus"]


def test_two_writers_do_not_seal_twice(library: Database, other: Database) -> None:
    with other.connection.transaction():
        assert other.value("SELECT lexical_seal('c')") == 3
        assert library.value("SELECT lexical_seal('c')") == 0
        assert library.error("SELECT pgblend._lock_segments(1)").sqlstate == "55P03"
    assert library.value("SELECT lexical_seal('c')") == 0
    assert library.value("SELECT sum(n) FROM pgblend_data.segment") == 3


def test_workers_go_on(library: Database, other: Database, thief: Thief) -> None:
    add_space(library, "s", 3)
    library.rows("SELECT pgblend._queue_again(array_agg(id)) FROM pgblend_data.chunk")
    start = "SELECT pgblend._start_worker('host', 1)"
    take = "SELECT count(*) FROM pgblend._next_embeddings('s', 10, %s)"
    library.rows("SELECT add_collection('d')")
    add_documents(library, "d", [("x", "", "an otter")])
    first = library.value(start)
    assert library.value(take, first) == 4
    assert thief.take_all() == 1
    second = other.value(start)
    assert other.value(take, second) == 0
    library.rows("SELECT pgblend._stop_worker(%s)", first)
    assert thief.take_all() == 1  # and that of the one that stopped
    assert thief.reader.value("SELECT pgblend._live_workers()") == [second]
    library.rows("UPDATE pgblend_data.embedding_queue SET worker = %s", first)
    assert other.value(take, second) == 4
    assert library.value(start) > second


def test_who_waits_is_told_and_nobody_else(
    library: Database, other: Database, thief: Thief
) -> None:
    add_space(library, "s", 3)
    worker = other.value("SELECT pgblend._start_worker('host', 1)")
    other.rows("LISTEN pgblend_embedding")
    thief.take_all()
    heard = lambda: list(other.connection.notifies(timeout=0.2, stop_after=1))  # noqa: E731
    add_documents(library, "c", [("n", "", "a narwhal")])
    assert heard() == []
    other.rows("UPDATE pgblend_data.embedding_worker SET waits = true WHERE id = %s", worker)
    add_documents(library, "c", [("o", "", "an otter")])
    assert len(heard()) == 1
    other.rows("SELECT pgblend._stop_worker(%s)", worker)
    add_documents(library, "c", [("p", "", "a penguin")])
    assert heard() == []


def test_summaries_go_on(library: Database, other: Database, thief: Thief) -> None:
    library.rows("""SELECT set_collection_settings('c', '{"summaries": true}')""")
    take = "SELECT document_id, content_hash FROM pgblend._next_summaries(%s, 100, %s)"
    start = "SELECT pgblend._start_worker('host', 1)"
    first, second = library.value(start), other.value(start)
    ((document, content_hash), _) = library.rows(take, 2, first)
    thief.take_all()
    assert len(other.rows(take, 10, second)) == 1
    store = "SELECT pgblend._store_summary(%s, %s, 'short', 'key')"
    assert library.value(store, document, content_hash) is True
    library.rows("SELECT pgblend._stop_worker(%s)", first)
    assert len(other.rows(take, 10, second)) == 1  # of the one that stopped


def test_a_killed_session_frees_what_it_claimed(library: Database, other: Database) -> None:
    """A place for model calls: tests/unit/test_model_places.py, by kill -9."""
    library.rows("""SELECT set_collection_settings('c', '{"summaries": true}')""")
    with suppress(psycopg.OperationalError), connect(library.url) as dying:
        worker = Database(dying).value("SELECT pgblend._start_worker('host', 1)")
        taken = Database(dying).rows("SELECT * FROM pgblend._next_summaries(10, 10, %s)", worker)
        dying.execute("BEGIN")
        dying.execute("SELECT lexical_rebuild('c')")
        assert library.value("SELECT lexical_seal('c')") == 0
        library.rows("SELECT pg_terminate_backend(%s, 20000)", dying.info.backend_pid)
    wait_until(lambda: library.value("SELECT pgblend._live_workers()") == [])
    assert library.value("SELECT status FROM lexical_status('c')") != "building"
    assert library.value("SELECT lexical_seal('c')") == 3
    again = other.value("SELECT pgblend._start_worker('host', 1)")
    assert other.rows("SELECT * FROM pgblend._next_summaries(10, 10, %s)", again) == taken


def test_who_stops_a_migration_is_named(
    committed: Database, connect_as: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_PATIENCE_STEPS", 1)
    reader = connect_as("pgblend_reader")
    reader.execute("SELECT pg_advisory_lock_shared(hashtextextended('pgblend migrate', 0))")
    with pytest.raises(UserError, match=f"role {reader.info.user} ") as caught:
        runner.apply(committed.url)
    assert f"pg_terminate_backend({reader.info.backend_pid})" in str(caught.value.hint)
    reader.close()
    runner.apply(committed.url)


@dataclass
class Neighbours:
    """Two collections; a writer of `a` who reads `b`, a reader of both, and the superuser."""

    admin: Database
    writer: Database
    reader: Database
    b: int


@pytest.fixture
def neighbours(committed: Database, connect_as: Connect) -> Neighbours:
    """Rows in most tables, of both."""
    add_space(committed)
    ids = {}
    for name in ("a", "b"):
        settings = json.dumps({"summaries": True})
        ids[name] = committed.value("SELECT add_collection(%s, settings => %s)", name, settings)
        add_documents(committed, name, [(k, "T", f"walrus of {k}") for k in "kl"])
        committed.rows("SELECT lexical_seal(%s)", name)
        add_documents(committed, name, [("m", "M", "an otter"), ("k", "T", "a narwhal")])
        committed.rows("SELECT add_links(%s, 'k', '[{\"target\": \"l\"}]'::jsonb)", name)
        committed.rows("SELECT add_edge(graph_node(%s, 'l'), graph_node(%s, 'm'))", name, name)
        committed.rows("SELECT add_judged_set('set ' || %s, %s)", name, name)
        committed.rows("SELECT record_judgement('set ' || %s, 'otter', 'k', 2)", name)
    writer, reader = (Database(connect_as(f"pgblend_{role}")) for role in ("writer", "reader"))
    for name, role, right in (
        ("a", writer, "write"), ("b", writer, "read"), ("a", reader, "read"), ("b", reader, "read"),
    ):  # fmt: skip
        user = role.connection.info.user
        committed.rows("SELECT grant_collection(%s, %s, %s)", name, user, right)
    return Neighbours(committed, writer, reader, ids["b"])


def answer(db: Database, statement: str) -> str | int:
    """Return how many rows a statement gives, or the class of its error; nothing is kept."""
    try:
        with db.connection.transaction(force_rollback=True):
            return len(db.rows(statement))
    except psycopg.Error as error:
        return str(error.sqlstate)


@pytest.mark.parametrize("lock", ROW_LOCKS)
def test_rows_of_others_are_not_locked(neighbours: Neighbours, lock: str) -> None:
    of_collection = (
        "SELECT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attname = 'collection_id'"
        " AND a.attrelid = ('pgblend_data.' || %s)::regclass)"
    )
    tried = set()
    for table in neighbours.admin.column(TABLES):
        rows = f"SELECT 1 FROM pgblend_data.{table} AS t"
        locked = answer(neighbours.reader, f"{rows} FOR {lock}")
        assert locked == "42501", (table, locked)
        if not neighbours.admin.value(of_collection, table):
            # Workers are their role's own (tests/security/test_shared_rows.py).
            refused = answer(neighbours.writer, f"{rows} FOR {lock}") == "42501"
            assert refused or table in {"embedding_allowance", "embedding_worker"}, table
            continue
        rows = f"{rows} WHERE t.collection_id = {neighbours.b}"
        if neighbours.admin.rows(rows):
            tried.add(table)
        assert answer(neighbours.writer, f"{rows} FOR {lock}") in (0, "42501"), table
    assert {"chunk", "document", "document_summary", "edge", "embedding_queue"} <= tried
    assert {"index_claim", "link", "pending", "segment", "vocabulary_lock"} <= tried


def test_tables_are_not_locked(neighbours: Neighbours) -> None:
    """Whoever may DELETE may LOCK TABLE: PostgreSQL has no narrower right. Nobody else may."""
    deletes = (
        "SELECT has_table_privilege(('pgblend_data.' || %s)::regclass, 'UPDATE, DELETE, TRUNCATE')"
    )
    exposed = set()
    for table in neighbours.admin.column(TABLES):
        for lock in TABLE_LOCKS:
            statement = f"LOCK TABLE pgblend_data.{table} IN {lock} MODE NOWAIT"
            if answer(neighbours.reader, statement) != "42501":
                assert lock in OF_READERS, (table, lock)
            if answer(neighbours.writer, statement) != "42501" and lock not in OF_ADDERS:
                assert neighbours.writer.value(deletes, table), (table, lock)
                exposed.add(table)
    assert not exposed & {
        "collection", "embedding_space", "index_claim", "pending", "posting", "segment", "setting",
        "tombstone", "vocabulary", "vocabulary_lock",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.fault("kill -9 of a backend in a model call", "its place is free for others")
def test_kill_9_of_a_backend_frees_its_place(model_provider: ModelProvider) -> None:
    with temporary_cluster(durable=True) as cluster:
        url = make_conninfo("", **cluster.connection_parameters())
        runner.upgrade(url)
        call = "SELECT vector_dims((blend.embed_text('{x}', timeout_ms => 60000))[1])"
        with connect(url) as connection:
            for name, value in {
                "gateway_url": model_provider.url,
                "embedding_model": model_provider.model,
                "model_calls": {"most": 1},
            }.items():
                connection.execute("SELECT blend.set_setting(%s, %s)", [name, json.dumps(value)])
        model_provider.behaviour = Behaviour(hang=True)
        dying, admin = connect(url), connect(url)
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(dying.execute, call)  # type: ignore[arg-type]
            wait_until(lambda: model_provider.requests > 0)
            assert places_taken(Database(admin)) == 1
            os.kill(dying.info.backend_pid, signal.SIGKILL)  # the server ends all others as well
            assert isinstance(answer.exception(), psycopg.OperationalError)
        admin.close()
        model_provider.reset()

        def answers() -> bool:
            with suppress(UserError, psycopg.OperationalError), connect(url) as connection:
                return bool(Database(connection).value(call))
            return False

        wait_until(answers)
