"""warm: a session made ready, and what searches read brought into memory."""

import json
import socket
from collections.abc import Iterator

import psycopg
import pytest
from conftest import Server, login_role

from pgblend.cli.base.database import connect
from support.database import Database, add_documents, add_space, embed_waiting

SESSION = ("session", None, "session", None)


def fill(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("one", "", "a red fox"), ("two", "", "a brown fox")])
    add_space(db)
    embed_waiting(db)
    return db


@pytest.fixture
def library(db: Database) -> Database:
    return fill(db)


@pytest.fixture
def fresh(committed: Database) -> Iterator[psycopg.Connection]:
    with connect(fill(committed).url) as connection:
        yield connection


def has_warm_up(connection: psycopg.Connection) -> bool:
    trace = "SELECT search_explain('fox', options => '{\"mode\": \"fast\"}')"
    ((explained,),) = connection.execute(trace)
    return "warm_up" in [stage["name"] for stage in explained["stages"]]


def test_a_session_is_ready(fresh: psycopg.Connection) -> None:
    assert list(fresh.execute("SELECT * FROM warm()")) == [SESSION]
    assert not has_warm_up(fresh)


def test_another_session_is_not(fresh: psycopg.Connection) -> None:
    assert has_warm_up(fresh)


def test_without_documents_or_space(db: Database) -> None:
    assert db.rows("SELECT * FROM warm()") == [SESSION]


def test_it_asks_no_model(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("one", "", "a red fox")])
    add_space(db)  # the passage waits for its vector
    db.rows("SELECT set_setting('gateway_url', '\"http://127.0.0.1:1\"')")
    assert db.rows("SELECT * FROM warm()") == [SESSION]


def test_it_is_not_logged(library: Database) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as log:
        log.bind(("127.0.0.1", 0))
        log.settimeout(5)
        address = f"127.0.0.1:{log.getsockname()[1]}"
        library.rows("SELECT set_setting('log_address', to_jsonb(%s::text))", address)
        assert library.rows("SELECT * FROM warm()") == [SESSION]
        library.rows("SELECT * FROM hybrid_search('fox', options => '{\"mode\": \"fast\"}')")
        assert json.loads(log.recv(65536))["query"] == "fox"


def test_what_searches_read(library: Database) -> None:
    without = library.rows("SELECT * FROM warm(server => true)")
    assert {memory for _, _, memory, _ in without[1:]} == {None}
    assert {note for _, _, _, note in without[1:]} == {"CREATE EXTENSION pg_prewarm reads it"}
    library.rows("CREATE SCHEMA elsewhere; CREATE EXTENSION pg_prewarm SCHEMA elsewhere")
    library.rows(  # a better match for a call with two arguments
        "CREATE FUNCTION elsewhere.pg_prewarm(regclass, text) RETURNS bigint"
        " LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'of somebody else'; END $$"
    )
    read = library.rows("SELECT * FROM warm(server => true)")
    assert read[0] == SESSION
    assert {(memory, note) for _, _, memory, note in read[1:]} == {("shared_buffers", None)}
    parts = [part for part, *_ in read[1:]]
    assert "embedding_test" in parts[0]
    assert {"segment", "posting", "chunk", "chunk_pkey"} <= set(parts)
    assert "long values of chunk" in parts
    assert len(parts) == len(set(parts)) == len(without) - 1


def test_what_a_reader_may_not_read_is_told(committed: Database, server: Server) -> None:
    fill(committed).rows("CREATE EXTENSION pg_prewarm")
    with (
        login_role(server, committed.connection.info.dbname, "pgblend_reader") as url,
        connect(url) as reader,
    ):
        rows = list(reader.execute("SELECT part, memory, note FROM warm(true)"))
    assert rows[0][:2] == ("session", "session")
    notes = {part: note for part, memory, note in rows if memory is None}
    assert notes["long values of chunk"].startswith("permission denied for")
