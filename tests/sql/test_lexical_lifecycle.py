"""The lexical index's states, when it is sealed, and what searches do without it."""

import json
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.locks import answered_late, waits
from support.model_provider import DEFAULT_DIMENSIONS, ModelProvider
from support.waiting import wait_until

Connect = Callable[..., psycopg.Connection]

TEXTS = ("the wine of France", "the sea and the wind", "wine, cheese and wind")
SEARCH = "SELECT source_key, score, degraded FROM lexical_search(%s, options => %s::jsonb)"
HYBRID = "SELECT source_key, degraded FROM hybrid_search(%s, options => %s::jsonb)"
# As the command line stores a batch: a call for each document takes ten times as long.
FILL = """
    SELECT pgblend._store_documents(
        c, array_agg(pgblend._document_row(
            c, 'more' || n, 'bulk ' || n, NULL, NULL, NULL, 'english', NULL, NULL, NULL)),
        array_agg('bulk ' || n), NULL, NULL)
    FROM pgblend._named_collection('library') AS c, generate_series(1, %s) AS n
    GROUP BY c
"""


@pytest.fixture
def library(connection: psycopg.Connection) -> psycopg.Connection:
    """A collection of three chunks, none of them sealed yet."""
    connection.execute("SELECT add_collection('library')")
    for key, text in enumerate(TEXTS):
        connection.execute("SELECT ingest_document('library', %s, %s)", [str(key), text])
    return connection


@pytest.fixture
def warnings(connection: psycopg.Connection) -> list[str]:
    """The server's warnings and notices on the connection."""
    received: list[str] = []
    connection.add_notice_handler(lambda message: received.append(message.message_primary or ""))
    return received


@pytest.fixture
def other(database_url: str) -> Iterator[psycopg.Connection]:
    """A second session."""
    with connect(database_url) as opened:
        yield opened


def status(connection: psycopg.Connection) -> tuple[object, ...]:
    """Return status, chunks, sealed, pending and dead of the library."""
    row = connection.execute(
        "SELECT status, chunks, sealed, pending, dead FROM lexical_status('library')"
    ).fetchone()
    assert row is not None
    return row


def search(connection: psycopg.Connection, query: str, options: str = "{}") -> list[str]:
    """Return the keys that a lexical search finds, in order."""
    return [row[0] for row in connection.execute(SEARCH, [query, options]).fetchall()]


def fill(connection: psycopg.Connection, count: int) -> None:
    """Add so many documents of one chunk in one statement."""
    connection.execute(FILL, [count])


def lose_the_index(connection: psycopg.Connection) -> None:
    """Take away what a partial restore would lack."""
    connection.execute("TRUNCATE pgblend_data.segment, pgblend_data.posting, pgblend_data.pending")


@pytest.fixture
def broken_disk(connection: psycopg.Connection) -> Callable[[bool], None]:
    """Make writing a segment fail, and work again."""

    def switch(fails: bool) -> None:
        if fails:
            connection.execute(
                "ALTER TABLE pgblend_data.segment"
                " ADD CONSTRAINT broken_disk CHECK (n < 0) NOT VALID"
            )
        else:
            connection.execute("ALTER TABLE pgblend_data.segment DROP CONSTRAINT broken_disk")

    return switch


def test_states_from_empty_to_ready(connection: psycopg.Connection) -> None:
    connection.execute("SELECT add_collection('library')")
    assert status(connection) == ("empty", 0, 0, 0, 0)
    connection.execute("SELECT ingest_document('library', 'a', 'wine')")
    assert status(connection) == ("ready", 1, 0, 1, 0)
    assert connection.execute("SELECT lexical_seal('library')").fetchone() == (1,)
    assert status(connection) == ("ready", 1, 1, 0, 0)
    assert connection.execute("SELECT lexical_seal('library')").fetchone() == (0,)
    connection.execute("SELECT delete_document('library', 'a')")
    assert status(connection) == ("empty", 0, 0, 0, 1)
    connection.execute("SELECT lexical_seal()")
    assert status(connection) == ("empty", 0, 0, 0, 0)


def test_a_lost_index_is_uninitialized_until_it_is_rebuilt(library: psycopg.Connection) -> None:
    lose_the_index(library)
    assert status(library) == ("uninitialized", 3, 0, 0, 0)
    assert library.execute("SELECT lexical_rebuild('library')").fetchone() == (3,)
    assert status(library) == ("ready", 3, 3, 0, 0)
    assert search(library, "wine") == ["0", "2"]


def test_an_index_that_lacks_chunks_is_an_error(library: psycopg.Connection) -> None:
    library.execute("DELETE FROM pgblend_data.pending WHERE chunk_id % 2 = 0")
    row = library.execute("SELECT status, last_error FROM lexical_status()").fetchone()
    assert row is not None
    assert row[0] == "error"
    assert "lexical_rebuild" in row[1]


def test_truncated_chunks_leave_no_orphans(library: psycopg.Connection) -> None:
    library.execute("SELECT lexical_seal('library')")
    library.execute("TRUNCATE pgblend_data.document CASCADE")
    assert status(library) == ("empty", 0, 0, 0, 0)


def test_building_is_seen_by_others_and_the_old_index_serves(
    library: psycopg.Connection, other: psycopg.Connection
) -> None:
    library.execute("SELECT lexical_seal('library')")
    with library.transaction():
        library.execute("SELECT lexical_rebuild('library')")
        assert status(library)[0] == "ready"
        assert status(other) == ("building", 3, 3, 0, 0)
        assert search(other, "wine") == ["0", "2"]
        assert other.execute("SELECT lexical_seal('library')").fetchone() == (0,)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            other.execute("SELECT lexical_rebuild('library')")
    assert status(other)[0] == "ready"


@pytest.mark.parametrize("call", ["lexical_seal('library')", "lexical_rebuild('library')"])
def test_a_failure_is_remembered_and_the_old_index_serves(
    library: psycopg.Connection,
    warnings: list[str],
    broken_disk: Callable[[bool], None],
    call: str,
) -> None:
    library.execute("SELECT lexical_seal('library')")
    library.execute("SELECT ingest_document('library', 'new', 'wine')")
    broken_disk(True)
    assert library.execute(f"SELECT {call}").fetchone() == (None,)
    assert "could not be written" in warnings[-1]
    assert status(library) == ("error", 4, 3, 1, 0)
    row = library.execute("SELECT last_error FROM lexical_status()").fetchone()
    assert row is not None
    assert "broken_disk" in row[0]
    assert set(search(library, "wine")) == {"0", "2", "new"}
    broken_disk(False)
    assert library.execute(f"SELECT {call}").fetchone() != (None,)
    assert status(library) == ("ready", 4, 4, 0, 0)


def test_a_thousand_pending_chunks_are_sealed_at_commit(library: psycopg.Connection) -> None:
    with library.transaction():
        fill(library, 1500)
        assert status(library) == ("ready", 1503, 0, 1503, 0)
    assert status(library) == ("ready", 1503, 1503, 0, 0)
    library.execute("DELETE FROM pgblend_data.document WHERE source_key LIKE 'more%'")
    assert status(library) == ("ready", 3, 3, 0, 0)


def test_fewer_chunks_stay_pending(library: psycopg.Connection) -> None:
    fill(library, 900)
    assert status(library) == ("ready", 903, 0, 903, 0)


def test_an_ingest_whose_seal_fails_is_stored(
    library: psycopg.Connection, broken_disk: Callable[[bool], None], warnings: list[str]
) -> None:
    broken_disk(True)
    fill(library, 1500)
    assert status(library) == ("error", 1503, 0, 1503, 0)
    fill(library, 1600)  # not tried again at once
    assert len([text for text in warnings if "could not be written" in text]) == 1
    assert search(library, "1577") == ["more1577"]


def test_a_seal_that_is_cancelled_does_not_take_the_commit_along(
    library: psycopg.Connection, other: psycopg.Connection, warnings: list[str]
) -> None:
    library.execute("BEGIN")
    fill(library, 1500)
    committing = threading.Thread(target=library.execute, args=("COMMIT",))
    with other.transaction():
        other.execute("LOCK TABLE pgblend_data.segment IN SHARE MODE")  # the seal has to wait
        committing.start()
        wait_until(lambda: waits(other, library))
        assert status(other)[0] == "building"
        other.execute("SELECT pg_cancel_backend(%s)", [library.info.backend_pid])
        committing.join()
    assert "canceling statement" in warnings[-1]
    assert status(library) == ("error", 1503, 0, 1503, 0)
    assert library.execute("SELECT lexical_seal('library')").fetchone() == (1503,)
    assert status(library) == ("ready", 1503, 1503, 0, 0)


def test_a_repeatable_read_transaction_leaves_the_seal_to_others(
    library: psycopg.Connection,
) -> None:
    with library.transaction():
        library.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        fill(library, 1500)
    assert status(library) == ("ready", 1503, 0, 1503, 0)
    library.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    with pytest.raises(psycopg.errors.ActiveSqlTransaction):
        library.execute("SELECT lexical_seal('library')")
    library.execute("ROLLBACK")


def test_who_may_seal(library: psycopg.Connection, connect_as: Connect) -> None:
    reader, writer = connect_as("pgblend_reader"), connect_as("pgblend_reader", "pgblend_writer")
    library.execute("SELECT grant_collection('library', %s)", [reader.info.user])
    library.execute("SELECT grant_collection('library', %s)", [writer.info.user])
    assert status(reader)[0] == "ready"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.execute("SELECT lexical_seal('library')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="may not write"):
        writer.execute("SELECT lexical_rebuild('library')")
    assert writer.execute("SELECT lexical_seal()").fetchone() == (0,)
    library.execute("SELECT grant_collection('library', %s, 'write')", [writer.info.user])
    assert writer.execute("SELECT lexical_seal()").fetchone() == (3,)
    fill(writer, 1500)
    assert status(writer) == ("ready", 1503, 1503, 0, 0)
    assert writer.execute("SELECT lexical_rebuild('library')").fetchone() == (1503,)


def test_strict_search_names_a_missing_and_an_empty_index(
    library: psycopg.Connection, warnings: list[str]
) -> None:
    library.execute("SELECT add_collection('nothing')")
    strict = '{"strict": true}'
    assert search(library, "wine", strict) == ["0", "2"]
    assert search(library, "xyzzy", strict) == []
    lose_the_index(library)
    with pytest.raises(psycopg.Error, match='"library" has no lexical index') as missing:
        search(library, "wine", strict)
    assert missing.value.sqlstate == "PB002"
    empty = "SELECT * FROM lexical_search('wine', 10, '{nothing}', options => %s::jsonb)"
    with pytest.raises(psycopg.Error, match="empty") as nothing:
        library.execute(empty, [strict])
    assert nothing.value.sqlstate == "PB003"
    assert library.execute(empty, ["{}"]).fetchall() == []
    assert warnings == []


def test_what_was_empty_is_named_once_it_has_lost_its_index(library: psycopg.Connection) -> None:
    library.execute("SELECT lexical_seal('library'); SELECT add_collection('second')")
    strict = '{"strict": true}'
    for _ in range(2):
        assert search(library, "wine", strict) == ["0", "2"]
    library.execute("SELECT ingest_document('second', 'b', 'red wine')")
    assert sorted(search(library, "wine", strict)) == ["0", "2", "b"]
    library.execute("DELETE FROM pgblend_data.pending")
    with pytest.raises(psycopg.Error, match='"second" has no lexical index'):
        search(library, "wine", strict)


def test_lenient_search_goes_on_without_a_missing_index(
    library: psycopg.Connection, warnings: list[str]
) -> None:
    lose_the_index(library)
    library.execute("SELECT add_collection('second')")
    library.execute("SELECT ingest_document('second', 'b', 'red wine')")
    ((key, _, degraded),) = library.execute(SEARCH, ["wine", "{}"]).fetchall()
    assert key == "b"
    assert 'lexical: collection "library" has no lexical index' in degraded[0]
    assert any("without the lexical arm" in text for text in warnings)


@pytest.fixture
def vectors(
    library: psycopg.Connection,
    gateway_connection: psycopg.Connection,
    model_provider: ModelProvider,
) -> None:
    """Vectors for the library, and a gateway that embeds queries."""
    gateway_connection.execute(
        "SELECT create_embedding_space('test', %s, %s)", [model_provider.model, DEFAULT_DIMENSIONS]
    )
    gateway_connection.execute(
        "CREATE TEMP TABLE embedding_stage AS SELECT chunk_id,"
        " (embed_text(ARRAY[input], 'test', 60000))[1] AS embedding"
        " FROM pgblend._next_embeddings('test', 100)"
    )
    gateway_connection.execute("SELECT pgblend._store_embeddings('test')")


@pytest.mark.usefixtures("vectors")
def test_vectors_stand_in_for_words_that_are_nowhere(
    library: psycopg.Connection, warnings: list[str]
) -> None:
    rows = library.execute(SEARCH, ["xyzzy", "{}"]).fetchall()
    assert len(rows) == len(TEXTS)
    assert all("no passage was found by its words" in row[2][0] for row in rows)
    assert any("no passage was found by its words" in text for text in warnings)
    assert len(library.execute(SEARCH, ["xyzzy", '{"offset": 2}']).fetchall()) == 1
    for query, options in (
        ("xyzzy", '{"strict": true}'),
        ('"xyzzy plugh"', "{}"),
        ("wine", '{"offset": 5}'),
        ("wine", '{"min_score": 1}'),
        ("", "{}"),
    ):
        assert search(library, query, options) == [], (query, options)


@pytest.mark.usefixtures("vectors")
def test_a_time_out_is_no_reason_for_vectors(
    library: psycopg.Connection, other: psycopg.Connection
) -> None:
    library.execute("SELECT lexical_seal('library')")
    warnings: list[str] = []
    other.add_notice_handler(lambda message: warnings.append(message.message_primary or ""))
    limit = '{"timeouts_ms": {"lexical": 500}}'

    def late(statement: str, query: str) -> list[tuple[object, ...]]:
        return answered_late(
            library,
            other,
            "posting",
            0.7,
            lambda: other.execute(statement, [query, limit]).fetchall(),
        )

    assert late(SEARCH, "wine") == []
    assert any("time limit" in text for text in warnings)
    assert not any("no passage was found" in text for text in warnings)
    rows = late(HYBRID, "cheese wind")
    assert len(rows) == len(TEXTS)
    assert "lexical: the time limit" in str(rows[0][1])


@pytest.mark.usefixtures("vectors")
def test_vectors_stand_in_for_a_damaged_index_by_name(library: psycopg.Connection) -> None:
    library.execute("SELECT lexical_seal('library')")
    library.execute("UPDATE pgblend_data.segment SET lengths = ''")
    rows = library.execute(SEARCH, ["wine", "{}"]).fetchall()
    assert len(rows) == len(TEXTS)
    damaged, by_vectors = rows[0][2]
    assert 'collection "library" is damaged' in damaged
    assert "nearest by vectors" in by_vectors


@pytest.mark.usefixtures("vectors")
def test_hybrid_search_goes_on_by_vectors(library: psycopg.Connection) -> None:
    lose_the_index(library)
    rows = library.execute(HYBRID, ["wine", "{}"]).fetchall()
    assert len(rows) == len(TEXTS)
    assert "no lexical index" in rows[0][1][0]
    with pytest.raises(psycopg.Error) as strict:
        library.execute(HYBRID, ["wine", '{"strict": true}'])
    assert strict.value.sqlstate == "PB002"


HIDDEN = "DO $do$\nimport sys\nsys.modules['numpy'] = None\n$do$ LANGUAGE plpython3u"


@pytest.mark.usefixtures("vectors")
@pytest.mark.fault("a server's Python without numpy", "vectors answer; PB013; whole on its return")
def test_without_numpy_vectors_answer_and_words_are_an_error(
    library: psycopg.Connection, other: psycopg.Connection
) -> None:
    library.execute("SELECT lexical_seal('library')")
    notices: list[str] = []
    other.add_notice_handler(lambda message: notices.append(message.message_primary or ""))
    other.execute(HIDDEN)
    fill(other, 1500)
    assert status(other) == ("ready", 1503, 3, 1500, 0)
    assert other.execute("SELECT lexical_seal('library')").fetchone() == (0,)
    assert notices == ["nothing is sealed: the server's Python has no numpy"]
    rows = other.execute(HYBRID, ["wine", "{}"]).fetchall()
    assert len(rows) == len(TEXTS)
    assert rows[0][1][1] == (
        "lexical: the server's Python has no numpy, which the lexical arm needs."
        " Install it there (Debian: python3-numpy), then connect anew."
    )
    for search, options in ((SEARCH, "{}"), (HYBRID, '{"strict": true}')):
        with pytest.raises(psycopg.Error, match="no numpy") as error:
            other.execute(search, ["wine", options])
        assert error.value.sqlstate == "PB013"
        assert "python3-numpy" in str(error.value.diag.message_hint)
    for method in (
        {"lexical_method": "ts_rank_cd", "fuzzy": "off"},
        {"weights": {"lexical": 0, "fuzzy": 0}},
    ):
        rows = other.execute(HYBRID, ["wine", json.dumps(method)]).fetchall()
        assert "numpy" not in str([row[1] for row in rows])
    # Another session has numpy: all is found, and the next seal takes what waited.
    assert len(library.execute(SEARCH, ["bulk", "{}"]).fetchall()) == 10
    assert status(library)[3] == 1500
    assert library.execute("SELECT lexical_seal('library')").fetchone() == (1500,)
    assert status(library) == ("ready", 1503, 1503, 0, 0)


def test_a_collection_is_removed_with_its_index(library: psycopg.Connection) -> None:
    fill(library, 1500)
    library.execute("SELECT ingest_document('library', 'pending', 'wine')")
    library.execute("SELECT remove_collection('library')")
    for table in ("pending", "segment", "posting", "tombstone", "lexical_failure"):
        assert library.execute(f"SELECT count(*) FROM pgblend_data.{table}").fetchone() == (0,)
