"""A second embedding space beside the first: probe, fill, switch at once, drop."""

import threading
from collections.abc import Callable

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database, add_documents, add_space, embed_waiting, stage
from support.model_provider import Behaviour, ModelProvider


def space_of(db: Database, name: str, vector: list[float], active: bool = False) -> None:
    """Make a space in which every chunk has the same vector."""
    db.rows(
        "SELECT create_embedding_space(%s, 'm', %s, active => %s, probe => false)",
        name,
        len(vector),
        active,
    )
    fill(db, name, vector)


def fill(db: Database, name: str, vector: list[float]) -> None:
    with db.connection.transaction():
        waiting = db.column("SELECT chunk_id FROM pgblend._next_embeddings(%s, NULL)", name)
        stage(db, [(chunk, vector) for chunk in waiting])
        db.rows("SELECT pgblend._store_embeddings(%s)", name)


@pytest.fixture
def library(committed: Database) -> Database:
    committed.rows("SELECT add_collection('c')")
    add_documents(committed, "c", [(f"{i}", f"T {i}", f"text {i}") for i in range(30)])
    return committed


# --- the probe


def test_a_model_is_asked_for_shorter_vectors(
    gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    db = Database(gateway_connection)
    create = "SELECT create_embedding_space(%s, %s, %s)"
    assert db.value(create, "short", model_provider.model, 100) == 100
    assert db.value("SELECT asked_dimensions FROM embedding_spaces") == 100
    assert db.value("SELECT vector_dims((embed_text('{text}'))[1])") == 100
    found = db.row("SELECT dimensions, likeness FROM probe_embedding_space('short')")
    assert found == (100, pytest.approx(1, abs=1e-6))
    assert db.value(create, "whole", model_provider.model, 384) == 384  # it needs no asking
    assert db.value("SELECT asked_dimensions FROM embedding_spaces WHERE name = 'whole'") is None


def test_the_model_says_its_dimensions(
    gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    db = Database(gateway_connection)
    create = "SELECT create_embedding_space(%s, %s, %s)"
    assert db.value(create, "s", model_provider.model, None) == 384
    columns = "dimensions, probed_at IS NOT NULL"
    assert db.row(f"SELECT {columns} FROM embedding_spaces") == (384, True)
    model_provider.behaviour = Behaviour(dimensions=384)  # whatever it is asked for
    error = db.error(create, "t", model_provider.model, 100)
    assert error.sqlstate == "PB008"
    assert "gave 384 dimensions where 100 were asked for" in str(error.message_primary)
    assert db.column("SELECT name FROM embedding_spaces WHERE active") == ["s"]
    model, expected, found, likeness = db.row("SELECT * FROM probe_embedding_space('s')")
    assert (model, expected, found) == (model_provider.model, 384, 384)
    assert likeness == pytest.approx(1, abs=1e-6)
    db.rows("UPDATE pgblend_data.embedding_space SET probe[1:16] = array_fill(0.3::real, '{16}')")
    assert db.row("SELECT likeness < 0.9 FROM probe_embedding_space('s')") == (True,)
    assert db.rows("SELECT * FROM probe_embedding_space('nope')") == []


@pytest.mark.parametrize(
    "behaviour", [Behaviour(status=500, error_message="it broke"), Behaviour(garbage=True)]
)
def test_a_model_that_fails_makes_no_space(
    gateway_connection: psycopg.Connection, model_provider: ModelProvider, behaviour: Behaviour
) -> None:
    db = Database(gateway_connection)
    model_provider.behaviour = behaviour
    error = db.error("SELECT create_embedding_space('s', %s)", model_provider.model)
    assert error.sqlstate == "PB008"
    assert "probe => false" in str(error.message_hint)
    assert db.rows("SELECT * FROM embedding_spaces") == []


def test_without_a_gateway(db: Database) -> None:
    error = db.error("SELECT create_embedding_space('s', 'm', 3)")
    assert error.sqlstate == "PB008"
    assert "no model gateway is set" in str(error.message_primary)
    assert "probe => false" in str(error.message_hint)


# --- counting and mending


def test_counts_and_what_went_past_the_queue(library: Database) -> None:
    add_space(library, "s", 3)
    counts = "SELECT name, chunks, vectors, waiting, missing FROM count_vectors(%s)"
    assert library.row(counts, "s") == ("s", 30, 0, 30, 0)
    embed_waiting(library, "s", 3)
    library.rows("DELETE FROM pgblend_data.embedding_s WHERE chunk_index = 0 AND document_id < 5")
    assert library.row(counts, None) == ("s", 30, 26, 0, 4)
    assert library.value("SELECT queue_missing_vectors('s')") == 4
    assert library.value("SELECT queue_missing_vectors('s')") == 0
    assert library.row(counts, "s") == ("s", 30, 26, 4, 0)
    assert library.error("SELECT queue_missing_vectors('nope')").sqlstate == "22023"
    assert library.rows(counts, "nope") == []
    sizes = "SELECT table_bytes > 0, index_bytes > 0 FROM count_vectors('s')"
    assert library.row(sizes) == (True, True)


def test_new_chunks_wait_in_all_spaces(library: Database) -> None:
    space_of(library, "one", [1, 0], active=True)
    space_of(library, "two", [1, 0, 0])
    add_documents(library, "c", [("new", "", "new text"), ("0", "", "replaced text")])
    counts = "SELECT name, vectors, waiting, missing FROM count_vectors()"
    assert library.rows(counts) == [("one", 29, 2, 0), ("two", 29, 2, 0)]


# --- switch


def test_switch(library: Database) -> None:
    space_of(library, "one", [1, 0], active=True)
    library.rows("SELECT create_embedding_space('two', 'm', 3, active => false, probe => false)")
    error = library.error("SELECT switch_embedding_space('two')")
    assert error.sqlstate == "55000"
    assert '30 chunks have no vector in embedding space "two"' in str(error.message_primary)
    assert library.value("SELECT switch_embedding_space('two', true)") == "one"
    assert library.value("SELECT switch_embedding_space('one')") == "two"
    assert library.value("SELECT switch_embedding_space('one')") == "one"
    assert library.column("SELECT name FROM embedding_spaces WHERE active") == ["one"]
    for unknown in ("nope", None):
        assert library.error("SELECT switch_embedding_space(%s)", unknown).sqlstate == "22023"
    assert library.column("SELECT name FROM embedding_spaces WHERE active") == ["one"]


def test_a_search_names_its_space(library: Database) -> None:
    space_of(library, "one", [1, 0], active=True)
    space_of(library, "two", [0, 1, 0])
    search = "SELECT DISTINCT round(relevance::numeric, 6) FROM {}(query => 'text', options => %s"
    search += ", query_embedding => %s)"
    for function in ("vector_search", "hybrid_search"):
        relevance = search.format(function)
        assert library.column(relevance, '{"space": "two"}', "[0,1,0]") == [1]
        assert library.column(relevance, "{}", "[1,0]") == [1]
        error = library.error(relevance, '{"space": "three"}', "[1,0]")
        assert error.sqlstate == "22023"
        assert 'there is no embedding space "three"' in str(error.message_primary)
    ids = library.column("SELECT chunk_id FROM chunks LIMIT 1")
    vectors = "SELECT embedding::text FROM chunk_embeddings(%s, %s)"
    assert library.column(vectors, ids, "two") == ["[0,1,0]"]
    assert library.column(vectors, ids, None) == ["[1,0]"]


def test_no_search_sees_a_mixture(library: Database, database_url: str) -> None:
    """Searches go on while the spaces change places and are dropped and made anew."""
    space_of(library, "a", [1, 0, 0], active=True)
    space_of(library, "b", [0, 1, 0])
    # In "a" every cosine to this vector is .6, in "b" .8.
    search = (
        "SELECT array_agg(DISTINCT round(relevance::numeric, 6)), count(*)"
        " FROM hybrid_search('text', 30, query_embedding => '[0.6,0.8,0]')"
    )
    errors: list[BaseException] = []
    seen: list[tuple[list[float], int]] = []
    done = threading.Event()
    searched = threading.Semaphore(0)

    def look() -> None:
        try:
            with connect(database_url) as connection:
                while not done.is_set():
                    seen.append(Database(connection).row(search))
                    searched.release()
        except BaseException as error:
            errors.append(error)
            searched.release(1000)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for active, idle, vector in [("b", "a", [1, 0, 0]), ("a", "b", [0, 1, 0])] * 4:
            assert searched.acquire(timeout=60)
            assert searched.acquire(timeout=60)
            library.rows("SELECT switch_embedding_space(%s)", active)
            assert library.value("SELECT drop_embedding_space(%s)", idle) is True
            space_of(library, idle, [float(value) for value in vector])
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert errors == []
    assert {(*map(float, values), count) for values, count in seen} == {(0.6, 30), (0.8, 30)}


def test_a_search_keeps_the_space_that_it_began_with(library: Database, database_url: str) -> None:
    space_of(library, "one", [1, 0], active=True)
    space_of(library, "two", [0, 1])
    search = "SELECT count(*) FROM vector_search(query_embedding => '[1,0]', result_limit => 30)"
    with connect(database_url, autocommit=False) as reader:
        assert Database(reader).value(search) == 30
        library.rows("SELECT switch_embedding_space('two')")
        library.rows("SET lock_timeout = '50ms'")
        dropped: list[bool] = []
        with connect(database_url) as admin:
            drop = threading.Thread(
                target=lambda: dropped.append(
                    Database(admin).value("SELECT drop_embedding_space('one')")
                )
            )
            drop.start()
            drop.join(0.5)
            assert dropped == []  # waits for the reader
            assert library.value(search) == 30  # and nobody waits for it
            reader.rollback()
            drop.join()
        assert dropped == [True]


def test_dropped_in_a_transaction_that_still_sees_it(library: Database, database_url: str) -> None:
    space_of(library, "one", [1, 0], active=True)
    space_of(library, "two", [0, 1])
    with connect(database_url, autocommit=False) as reader:
        old = Database(reader)
        old.rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.rows("SELECT count(*) FROM embedding_spaces")
        library.rows("SELECT switch_embedding_space('two'), drop_embedding_space('one')")
        error = old.error("SELECT * FROM vector_search(query_embedding => '[1,0]')")
        assert error.sqlstate == "40001"


def test_chunks_of_a_transaction_that_was_open_are_not_missed(
    library: Database, database_url: str, connect_as: Callable[..., psycopg.Connection]
) -> None:
    with connect(database_url, autocommit=False) as writer, connect(database_url) as admin:
        Database(writer).rows("SELECT ingest_document('c', 'late', 'late text')")
        create = threading.Thread(target=lambda: add_space(Database(admin), "s", 3))
        create.start()
        create.join(0.3)
        writer.commit()
        create.join()
    assert library.row("SELECT waiting, missing FROM count_vectors('s')") == (31, 0)


def test_admins_only(library: Database, connect_as: Callable[..., psycopg.Connection]) -> None:
    add_space(library, "s", 3)
    writer = Database(connect_as("pgblend_writer"))
    for call in (
        "switch_embedding_space('s')",
        "probe_embedding_space('s')",
        "queue_missing_vectors('s')",
        "pgblend._probe_model('m', 10)",
        "pgblend._note_probe('s', '{1}')",
    ):
        assert writer.error(f"SELECT {call}").sqlstate == "42501"
    assert writer.row("SELECT chunks, vectors FROM blend.count_vectors()") == (0, 0)
    admin = Database(connect_as("pgblend_admin"))
    assert admin.row("SELECT chunks, waiting FROM blend.count_vectors()") == (30, 30)
    assert admin.value("SELECT blend.queue_missing_vectors('s')") == 0
    assert admin.value("SELECT blend.switch_embedding_space('s', true)") == "s"


def test_a_session_forgets_what_it_prepared_for_a_dropped_space(library: Database) -> None:
    library.rows(
        "CREATE FUNCTION pg_temp.prepared() RETURNS text[] LANGUAGE plpython3u AS $$"
        " return list(GD['pgblend_statements']) $$"
    )
    asked = "SELECT * FROM vector_search(NULL, query_embedding => '[1,0]', options => %s)"
    space_of(library, "first", [1, 0], active=True)
    space_of(library, "second", [1, 0])
    for name in ("first", "second"):
        assert library.rows(asked, f'{{"space": "{name}"}}')
    library.rows("SELECT drop_embedding_space('second')")
    assert library.rows(asked, "{}")
    prepared = " ".join(library.value("SELECT pg_temp.prepared()"))
    assert "embedding_first" in prepared
    assert "embedding_second" not in prepared
