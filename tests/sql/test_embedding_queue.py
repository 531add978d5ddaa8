"""The embedding queue: claims, failures, dead letters, limits, and who may."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database, add_documents, add_space, stage, vector_literal
from support.model_provider import embed

TEXTS = ("one", "two", "three", "four")


@pytest.fixture
def queue(committed: Database) -> Database:
    """Four chunks that wait in the space test_space."""
    add_space(committed)
    committed.rows("SELECT add_collection('c')")
    add_documents(committed, "c", [(text, "", text) for text in TEXTS])
    return committed


@pytest.fixture
def sessions(queue: Database):
    """Two workers' sessions with their ids."""
    with connect(queue.url) as first, connect(queue.url) as second:
        yield [(Database(each), start(Database(each))) for each in (first, second)]


def start(session: Database) -> int:
    return session.value("SELECT pgblend._start_worker('host', 7)")


def claim(session: Database, worker: int | None, size: int | None = None) -> list[str]:
    return session.column(
        "SELECT input FROM pgblend._next_embeddings('test_space', %s, %s)", size, worker
    )


def claimed_ids(session: Database, worker: int, size: int = 1) -> list[int]:
    return session.column(
        "SELECT chunk_id FROM pgblend._next_embeddings('test_space', %s, %s)", size, worker
    )


def store(session: Database, worker: int | None, chunk_ids: list[int]) -> int:
    with session.connection.transaction():
        stage(session, [(each, embed("v")) for each in chunk_ids])
        return session.value("SELECT pgblend._store_embeddings('test_space', %s)", worker)


def fail(session: Database, worker: int, chunk_ids: list[int], reason: str = "no") -> int:
    return session.value(
        "SELECT pgblend._fail_embeddings('test_space', %s, %s, %s)",
        worker, chunk_ids, [reason] * len(chunk_ids),
    )  # fmt: skip


def test_workers_claim_different_chunks_and_hold_no_locks(queue: Database, sessions) -> None:
    (first, one), (second, two) = sessions
    assert claim(first, one, 3) == ["one", "two", "three"]
    assert claim(second, two) == ["four"]
    assert claim(first, one) == ["one", "two", "three"]  # its own once more
    assert queue.value("DELETE FROM pgblend_data.document WHERE source_key = 'one' RETURNING 1")


def test_a_dead_session_loses_its_claims_and_what_it_brings_is_too_late(
    queue: Database, sessions
) -> None:
    (first, one), (second, two) = sessions
    ids = first.column("SELECT chunk_id FROM pgblend._next_embeddings('test_space', 2, %s)", one)
    assert claim(second, two) == ["three", "four"]
    first.rows("SELECT pg_advisory_unlock(life_lock) FROM pgblend_data.embedding_worker")  # its end
    assert claim(second, two, 2) == ["one", "two"]
    assert store(first, one, ids) == 0
    assert store(second, two, ids) == 2
    assert queue.value("SELECT count(*) FROM pgblend_data.embedding_test_space") == 2


def test_a_killed_session_frees_its_claims(queue: Database, sessions) -> None:
    (first, one), (second, two) = sessions
    claim(first, one)
    queue.rows("SELECT pg_terminate_backend(%s, 5000)", first.connection.info.backend_pid)
    assert claim(second, two) == list(TEXTS)


def test_what_is_queued_anew_meanwhile_is_not_stored(queue: Database, sessions) -> None:
    (first, one), _ = sessions
    (chunk,) = claimed_ids(first, one)
    queue.rows("UPDATE pgblend_data.embedding_queue SET worker = NULL WHERE chunk_id = %s", chunk)
    assert store(first, one, [chunk]) == 0
    assert len(claim(first, one)) == 4


def test_given_back_chunks_can_be_taken(sessions) -> None:
    (first, one), (second, two) = sessions
    claim(first, one)
    assert first.value("SELECT pgblend._release_embeddings(%s)", one) == 4
    assert claim(second, two) == list(TEXTS)
    second.rows("SELECT pgblend._stop_worker(%s)", two)
    assert second.value("SELECT pgblend._live_workers()") == [one]
    assert claim(first, one) == list(TEXTS)


def test_a_vector_takes_the_place_of_an_older_one(queue: Database, sessions) -> None:
    (first, one), _ = sessions
    (chunk,) = claimed_ids(first, one)
    store(first, one, [chunk])
    queue.rows(
        "INSERT INTO pgblend_data.embedding_queue (space, chunk_id, document_id, collection_id,"
        " bucket) SELECT 'test_space', id, document_id, collection_id, bucket"
        " FROM pgblend_data.chunk WHERE id = %s", chunk,
    )  # fmt: skip
    assert claimed_ids(first, one) == [chunk]
    with first.connection.transaction():
        stage(first, [(chunk, embed("other"))])
        assert first.value("SELECT pgblend._store_embeddings('test_space', %s)", one) == 1
    stored = queue.value("SELECT embedding FROM pgblend_data.embedding_test_space")
    assert stored.to_text() == vector_literal(embed("other"))


def test_failures_wait_ever_longer_and_end_as_dead_letters(queue: Database, sessions) -> None:
    (first, one), _ = sessions
    (chunk,) = claimed_ids(first, one)
    queue.rows("SELECT set_setting('embedding_max_attempts', '3')")
    waits = []
    for attempt in (1, 2, 3):
        dead = fail(first, one, [chunk], f"refused {attempt}")
        attempts, wait, is_dead, reason, worker = queue.row(
            "SELECT attempts, extract(epoch FROM not_before - clock_timestamp())::float8,"
            " dead_at IS NOT NULL, last_error, worker"
            " FROM pgblend_data.embedding_queue WHERE chunk_id = %s", chunk,
        )  # fmt: skip
        assert (attempts, dead, is_dead, worker) == (attempt, attempt == 3, attempt == 3, None)
        assert reason == f"refused {attempt}"
        waits.append(wait)
        assert chunk not in claimed_ids(first, one)  # another one
        first.rows("SELECT pgblend._release_embeddings(%s)", one)
        queue.rows("UPDATE pgblend_data.embedding_queue SET worker = %s WHERE chunk_id = %s",
                   one, chunk)  # fmt: skip
    assert 4 < waits[0] <= 15
    assert 9 < waits[1] <= 30
    assert 19 < waits[2] <= 60
    assert queue.rows("SELECT collection, source_key, attempts, reason"
                      " FROM embedding_dead_letters") == [("c", "one", 3, "refused 3")]  # fmt: skip
    assert queue.row("SELECT waiting, dead FROM embedding_spaces WHERE name = 'test_space'") == (
        3,
        1,
    )
    assert queue.row(
        "SELECT embedded, waiting, retrying, dead, workers FROM embedding_progress"
    ) == (0, 3, 0, 1, 2)
    assert queue.value("SELECT retry_embeddings()") == 1
    assert queue.value("SELECT count(*) FROM embedding_dead_letters") == 0


def test_only_the_claimant_fails_a_chunk(queue: Database, sessions) -> None:
    (first, one), (second, two) = sessions
    (chunk,) = claimed_ids(first, one)
    assert fail(second, two, [chunk]) == 0
    assert queue.value("SELECT sum(attempts) FROM pgblend_data.embedding_queue") == 0


def test_retry_refuses_unknown_spaces_and_leaves_what_never_failed(queue: Database) -> None:
    assert queue.error("SELECT retry_embeddings('nope')").sqlstate == "22023"
    assert queue.value("SELECT retry_embeddings('test_space')") == 0


def test_the_rate_is_shared_by_all_workers(queue: Database, sessions) -> None:
    (first, one), (second, two) = sessions
    queue.rows("SELECT set_setting('embedding_texts_per_minute', '18')")  # three at a time
    assert claim(first, one, 2) == ["one", "two"]
    assert claim(second, two, 5) == ["three"]
    assert claim(first, one, 5) == []
    queue.rows("UPDATE pgblend_data.embedding_allowance SET counted_at = now() - interval '4 s'")
    assert len(claim(first, one, 5)) == 1
    queue.rows("SELECT reset_setting('embedding_texts_per_minute')")
    first.rows("SELECT pgblend._release_embeddings(%s)", one)
    assert len(claim(second, two)) == 4


def test_workers_are_woken_only_when_they_wait(queue: Database, sessions) -> None:
    (first, one), _ = sessions
    first.rows("LISTEN pgblend_embedding")
    heard = lambda: list(first.connection.notifies(timeout=0.2, stop_after=1))  # noqa: E731
    add_documents(queue, "c", [("five", "", "five")])
    assert heard() == []
    first.rows("UPDATE pgblend_data.embedding_worker SET waits = true WHERE id = %s", one)
    add_documents(queue, "c", [("six", "", "six")])
    assert len(heard()) == 1
    assert first.value("SELECT pgblend._live_workers()") == [one, one + 1]


def test_a_writer_works_on_what_it_may_write(queue: Database, connect_as) -> None:
    queue.rows("SELECT add_collection('hidden')")
    add_documents(queue, "hidden", [("secret", "", "secret")])
    writer = Database(connect_as("pgblend_writer"))
    assert claim(writer, start(writer)) == []
    queue.rows("SELECT grant_collection('c', %s, 'write')", writer.connection.info.user)
    worker = start(writer)
    assert claim(writer, worker) == list(TEXTS)
    assert writer.value("SELECT count(*) FROM embedding_dead_letters") == 0
    queue.rows("UPDATE pgblend_data.embedding_queue SET dead_at = now()")
    assert writer.value("SELECT retry_embeddings()") == 4
    assert writer.value("SELECT count(*) FROM embedding_dead_letters") == 0
    assert queue.value("SELECT count(*) FROM embedding_dead_letters") == 1


def test_a_reader_may_only_look(queue: Database, connect_as) -> None:
    reader = Database(connect_as("pgblend_reader"))
    assert reader.row("SELECT waiting, workers FROM embedding_progress") == (0, 0)
    for call in (
        "retry_embeddings()",
        "pgblend._start_worker('h', 1)",
        "pgblend._release_embeddings(1)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.rows(f"SELECT {call}")


def test_workers_seal_what_many_small_transactions_left(queue: Database) -> None:
    assert queue.value("SELECT pgblend._seal_waiting(5)") == 0
    assert queue.value("SELECT pgblend._seal_waiting(4)") == 4
    assert queue.value("SELECT sealed FROM lexical_status('c')") == 4


@contextmanager
def deleted_meanwhile(queue: Database, key: str) -> Iterator[None]:
    """Another session's transaction has deleted a document; it is rolled back at the end."""
    with connect(queue.url) as connection, connection.transaction(force_rollback=True):
        assert Database(connection).value("SELECT delete_document('c', %s)", key)
        yield


def impatient(session: Database) -> Database:
    """Have a session fail where it waits for another: whoever waits may be in a deadlock."""
    session.rows("SET lock_timeout = '1ms'")
    return session


@pytest.mark.fault("a chunk is deleted while its vector comes", "neither waits for the other")
def test_a_worker_waits_for_no_delete_that_may_wait_for_it(queue: Database, sessions) -> None:
    session, worker = impatient(sessions[0][0]), sessions[0][1]
    ids = claimed_ids(session, worker, 3)
    with deleted_meanwhile(queue, "one"):
        assert fail(session, worker, ids[:1]) == 0
        assert store(session, worker, ids[:3]) == 2
        assert session.value("SELECT pgblend._release_embeddings(%s)", worker) == 0
        assert claim(session, worker, 1) == ["four"]
    # The delete was rolled back: who had claimed the chunk takes it once more.
    assert claim(session, worker) == ["one", "four"]


@pytest.mark.fault("a chunk is deleted while others are queued", "it is left out, nobody waits")
def test_chunks_that_are_being_deleted_are_not_queued(queue: Database) -> None:
    queue.rows("DELETE FROM pgblend_data.embedding_queue")
    with deleted_meanwhile(queue, "one"):
        assert impatient(queue).value("SELECT queue_missing_vectors('test_space')") == 3
    assert queue.value("SELECT queue_missing_vectors('test_space')") == 1
