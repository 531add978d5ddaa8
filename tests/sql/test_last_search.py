"""What a search went without is told where no row can: by last_search and by the log."""

import json
import socket
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from support.database import Database, add_documents, add_space, embed_waiting

NOTHING = "SELECT * FROM {}('zzz', filter => '{{\"a\": 1}}', options => '{{\"mode\": \"fast\"}}')"
NO_VECTOR = "vector: no model gateway is set"
Connect = Callable[..., psycopg.Connection]


@pytest.fixture
def library(db: Database) -> Database:
    """Two passages with vectors, and no gateway for those of queries."""
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("one", "", "a red fox"), ("two", "", "a brown fox")])
    add_space(db)
    embed_waiting(db)
    return db


def last(db: Database) -> Any:
    return db.value("SELECT last_search()")


def test_it_tells_what_the_rows_tell(library: Database) -> None:
    assert last(library) is None
    rows = library.rows(
        "SELECT degraded, details FROM hybrid_search('red fox', options => %s)",
        '{"mode": "thorough"}',
    )
    told = last(library)
    assert told["degraded"] == rows[0][0]
    assert [note.partition(":")[0] for note in told["degraded"]] == ["expand", "rerank", "vector"]
    assert (told["mode"], told["not_run"]) == (rows[0][1]["mode"], rows[0][1]["not_run"])
    assert (told["rows"], told["candidates"], told["arm"]) == (2, 2, None)
    assert told["search_id"] is None
    assert told["ms"] > 0


@pytest.mark.parametrize("function", ["hybrid_search", "lexical_search"])
def test_without_rows_too_and_so_does_the_log(library: Database, function: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        address = f"127.0.0.1:{receiver.getsockname()[1]}"
        library.rows("SELECT set_setting('log_address', to_jsonb(%s::text))", address)
        assert library.rows(NOTHING.format(function)) == []
        report = json.loads(receiver.recv(65536))
    told = last(library)
    assert (told["rows"], told["candidates"]) == (0, 0)
    assert told["search_id"] == report["search_id"]
    assert told["degraded"] == report["degraded"]
    assert [note[: len(NO_VECTOR)] for note in told["degraded"]] == [NO_VECTOR]


def test_the_last_of_several(library: Database) -> None:
    library.rows("SELECT * FROM hybrid_search('fox')")
    library.rows("SELECT * FROM lexical_search('red')")
    assert (last(library)["arm"], last(library)["rows"]) == ("lexical", 1)
    library.rows("SELECT * FROM graph_search(ARRAY[graph_node('c', 'one')])")
    assert (last(library)["arm"], last(library)["degraded"]) == ("graph", [])
    library.rows("SELECT * FROM hybrid_search(' ')")
    assert (last(library)["arm"], last(library)["rows"]) == (None, 0)


def test_what_was_rolled_back_is_not_told(library: Database) -> None:
    library.rows("SAVEPOINT before")
    library.rows("SELECT * FROM lexical_search('red')")
    library.rows("ROLLBACK TO before")
    assert last(library) is None


def test_an_error_leaves_what_was(library: Database) -> None:
    library.rows("SELECT * FROM lexical_search('red')")
    library.error("SELECT * FROM lexical_search('red', -1)")
    assert last(library)["rows"] == 1


def test_another_transaction_is_told_nothing(committed: Database) -> None:
    committed.rows("SELECT * FROM lexical_search('x')")
    assert last(committed) is None
    name = "SELECT set_config('pgblend.last_search', '', false), last_search()"
    assert committed.row(name) == ("", None)
    # One message holds both transactions, so that they begin at the same moment.
    with committed.connection.cursor() as cursor:
        cursor.execute("BEGIN; SELECT * FROM lexical_search('x'); COMMIT; SELECT last_search()")
        while cursor.nextset():
            pass
        assert cursor.fetchone() == (None,)


def test_another_role_is_told_nothing(committed: Database, connect_as: Connect) -> None:
    role = connect_as("pgblend_reader").info.user
    change = sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role))
    with committed.connection.transaction():
        committed.rows("SELECT * FROM lexical_search('x')")
        name = committed.value("SELECT current_setting('pgblend.last_search')")
        committed.connection.execute(change)
        assert last(committed) is None
        committed.rows("SELECT set_config('pgblend.last_search', %s, true)", name)
        assert last(committed) is None
        committed.rows("SELECT * FROM lexical_search('x')")
        assert last(committed)["degraded"][0].startswith("collections: ")
        committed.rows("RESET ROLE")
        assert last(committed) is None


def test_a_reader_without_any_grant_is_told_so(committed: Database, connect_as: Connect) -> None:
    committed.rows("SELECT add_collection('c')")
    reader = Database(connect_as("pgblend_reader"))
    role = reader.connection.info.user
    with reader.connection.transaction():
        assert reader.rows("SELECT * FROM lexical_search('x')") == []
        (note,) = last(reader)["degraded"]
    assert f"role {role} may read no collection" in note
    assert f"grant_collection(NAME, '{role}')" in note
    assert reader.warnings() == [f"role {role} may read no collection"]
    strict = reader.error("SELECT * FROM lexical_search('x', options => '{\"strict\": true}')")
    assert (strict.sqlstate, "grant_collection" in str(strict.message_hint)) == ("42501", True)
    vectors = reader.error("SELECT * FROM vector_search(query_embedding => '[1]')")
    assert (vectors.sqlstate, "grant_collection" in str(vectors.message_hint)) == ("PB001", True)
    committed.rows("SELECT grant_collection('c', %s)", role)
    assert reader.rows("SELECT * FROM lexical_search('x')") == []
    assert reader.warnings() == []


@pytest.mark.parametrize(
    ("problem", "note"),
    [
        ("it broke", "rerank: it broke. Mend it."),
        ("it broke.", "rerank: it broke. Mend it."),
        ("is it there?", "rerank: is it there? Mend it."),
    ],
)
def test_problem_and_hint_are_one_text(db: Database, problem: str, note: str) -> None:
    call = "SELECT pgblend._degrade('rerank', %s, 'PB008', 'Mend it.', '{}')"
    assert db.value(call, problem) == [note]
    assert db.warnings() == [f"searching without the rerank stage: {note.partition(': ')[2]}"]
