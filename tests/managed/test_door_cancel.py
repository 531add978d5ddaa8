"""A cancel through a door, at any moment: rows or 57014, and a session that goes on as inside."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg.pq import ExecStatus, TransactionStatus

pytestmark = pytest.mark.extended
COUNT = 8  # of each kind and door
LATEST_MS = 30
SEARCH = "SELECT count(*) FROM blend.lexical_search('{0}', 3)"
MANY = "SELECT sum(n) FROM (SELECT (" + SEARCH.format("wine ' || g || '") + ") AS n FROM"
MANY += " generate_series(1, 300) AS g) AS s"
KEEP = "INSERT INTO public.kept VALUES ('{0}')"
Connection = psycopg.Connection[Any]


def canceled(
    run: Callable[[Connection, str], None], connection: Connection, text: str, seconds: float
) -> bool:
    """Run statements while a cancel arrives; whether they ended with it. No other error passes."""
    timer = threading.Timer(seconds, connection.pgconn.get_cancel().cancel)
    timer.start()
    try:
        run(connection, text)
    except psycopg.errors.QueryCanceled:
        return True
    finally:
        timer.join()
    return False


def status(connection: Connection) -> str:
    return connection.info.transaction_status.name


def one_message(connection: Connection, text: str) -> None:
    """Send a message of the simple protocol; raise what it ends with."""
    found = connection.pgconn.exec_(text.encode())
    if found.status == ExecStatus.FATAL_ERROR:
        raise psycopg.errors.error_from_result(found)


def by_text(connection: Connection, word: str) -> None:
    one_message(connection, SEARCH.format(word))


def by_value(connection: Connection, word: str) -> None:
    search = "SELECT chunk_id FROM blend.lexical_search(%s, 3)"
    connection.execute(search.encode(), (word,), prepare=True).fetchall()


def by_cursor(connection: Connection, word: str) -> None:
    with connection.transaction(), connection.cursor("bits") as cursor:
        cursor.execute(SEARCH.format(word).encode())
        assert len(cursor.fetchall()) == 1


def by_new_function(connection: Connection, word: str) -> None:
    """The door learns again what reaches a search."""
    connection.execute(
        "CREATE OR REPLACE FUNCTION pg_temp.counts(word text) RETURNS bigint LANGUAGE sql AS"
        " 'SELECT count(*) FROM blend.lexical_search(word, 3)'"
    )
    connection.execute("SELECT pg_temp.counts(%s)", (word,)).fetchall()


def by_storing(connection: Connection, word: str) -> None:
    connection.execute("SELECT blend.ingest_document('books', %s, %s)", (word, f"On {word}"))


ALONE = [by_text, by_value, by_cursor, by_new_function, by_storing]


def moments(kind: str) -> Iterator[tuple[str, float]]:
    """Yield words that were not asked for before, and when the cancel comes."""
    chance = random.Random(kind)
    for number in range(COUNT):
        yield f"wine {kind} {number}", chance.uniform(0, LATEST_MS) / 1000


@pytest.mark.parametrize("search", ALONE)
def test_a_search_by_itself(door: str, search: Callable[[Connection, str], None]) -> None:
    ended = Counter[bool]()
    for word, seconds in moments(search.__name__):
        with psycopg.connect(door, autocommit=True) as connection:
            for _ in range(2):
                ended[canceled(search, connection, word, seconds)] += 1
                assert status(connection) == "IDLE"
                assert connection.execute("SELECT 1").fetchone() == (1,)
            assert connection.execute(SEARCH.format("wine").encode()).fetchone() == (3,)
    assert ended[True], ended


@pytest.mark.parametrize("search", [by_text, by_value, by_new_function, by_storing])
@pytest.mark.parametrize("has_savepoint", [False, True])
def test_a_search_in_a_transaction(
    door: str,
    kept: Callable[[], list[str]],
    search: Callable[[Connection, str], None],
    has_savepoint: bool,
) -> None:
    expected = []
    with psycopg.connect(door, autocommit=True) as connection:
        for word, seconds in moments(search.__name__):
            first, second = f"{word} 1", f"{word} 2"
            connection.execute("BEGIN")
            connection.execute(KEEP.format(first).encode())
            if has_savepoint:
                connection.execute("SAVEPOINT a")
                connection.execute(KEEP.format(second).encode())
            if not canceled(search, connection, word, seconds):
                assert status(connection) == "INTRANS"
                connection.execute("COMMIT")
                expected += [first, second] if has_savepoint else [first]
            else:
                assert status(connection) == "INERROR"
                with pytest.raises(psycopg.errors.InFailedSqlTransaction):
                    connection.execute("SELECT 1")
                if has_savepoint:
                    connection.execute("ROLLBACK TO a")
                    by_text(connection, "wine")
                    connection.execute("COMMIT")
                    expected.append(first)
                else:
                    connection.execute("ROLLBACK")
            assert status(connection) == "IDLE"
    assert kept() == sorted(expected)


@pytest.mark.parametrize(
    "message",
    [
        f"{KEEP}; {SEARCH}",
        f"INSERT INTO public.kept SELECT '{{0}}' FROM ({SEARCH}) AS s",
        f"BEGIN; {KEEP}; {SEARCH}; COMMIT",
        f"BEGIN; {KEEP}; {SEARCH}",
        f"BEGIN; {KEEP}; SAVEPOINT b; {SEARCH}",
    ],
)
def test_a_message_that_writes_and_searches(
    door: str, kept: Callable[[], list[str]], message: str
) -> None:
    expected = []
    with psycopg.connect(door, autocommit=True) as connection:
        for word, seconds in moments("message"):
            text = message.format(word)
            is_canceled = canceled(one_message, connection, text, seconds)
            if status(connection) != "IDLE":
                connection.execute("COMMIT")  # of what failed: a rollback
            if not is_canceled:
                expected.append(word)
            assert status(connection) == "IDLE"
            assert connection.execute("SELECT 1").fetchone() == (1,)
    assert kept() == sorted(expected)


def test_savepoints_that_come_with_the_search(door: str, kept: Callable[[], list[str]]) -> None:
    expected = []
    with psycopg.connect(door, autocommit=True) as connection:
        for word, seconds in moments("savepoints"):
            connection.execute("BEGIN")
            connection.execute("SAVEPOINT a")
            connection.execute(KEEP.format(word).encode())
            text = f"RELEASE a; SAVEPOINT a; {SEARCH.format(word)}"
            is_canceled = canceled(one_message, connection, text, seconds)
            assert status(connection) == ("INERROR" if is_canceled else "INTRANS")
            if not is_canceled:
                expected.append(word)
            connection.execute("COMMIT")
    assert kept() == sorted(expected)


@pytest.mark.parametrize("begins", [False, True])
def test_a_pipeline(door: str, kept: Callable[[], list[str]], begins: bool) -> None:
    expected = []

    def run(connection: Connection, word: str) -> None:
        with connection.pipeline():
            if begins:
                connection.execute("BEGIN")
            connection.execute(KEEP.format(word).encode())
            by_value(connection, word)
            connection.execute("SELECT 1")
            if begins:
                connection.execute("COMMIT")

    with psycopg.connect(door, autocommit=True) as connection:
        # What it prepares by itself in a pipeline that fails it takes for prepared.
        connection.prepare_threshold = 1000
        for word, seconds in moments("pipeline"):
            is_canceled = canceled(run, connection, word, seconds)
            if status(connection) != "IDLE":
                assert begins
                connection.execute("ROLLBACK")
            found = [mark for mark in kept() if mark == word]
            # Statements of one pipeline that arrive apart are transactions of their own.
            assert is_canceled or found
            assert not (is_canceled and begins and found)
            expected += found
            assert connection.execute("SELECT 1").fetchone() == (1,)
    assert kept() == sorted(expected)


@pytest.mark.parametrize("begins", ["SELECT 1", "BEGIN"])
def test_no_cancel_is_lost(door: str, begins: str) -> None:
    """Most of the time the door works, and the server waits for it: it would forget the cancel."""
    with psycopg.connect(door, autocommit=True) as connection:
        for number in range(10):
            connection.execute(begins.encode())
            assert canceled(one_message, connection, MANY, 0.1 + number / 100)
            connection.execute("ROLLBACK")
        by_text(connection, "wine")


@pytest.mark.parametrize("begins", ["SELECT 1", "BEGIN"])
def test_the_server_s_own_limit(door: str, begins: str) -> None:
    """A statement_timeout may end any statement of the door's own."""
    ended = Counter[bool]()
    with psycopg.connect(door, autocommit=True) as connection:
        for number in range(3 * COUNT):
            connection.execute(begins.encode())
            connection.execute(f"SET statement_timeout = {1 + number % 8}".encode())
            is_late = False
            with suppress(psycopg.errors.QueryCanceled):
                is_late = True
                one_message(connection, MANY.replace("300", "5"))
                is_late = False
            ended[is_late] += 1
            if begins == "BEGIN":
                assert status(connection) == ("INERROR" if is_late else "INTRANS")
                connection.execute("ROLLBACK")
            assert connection.info.transaction_status == TransactionStatus.IDLE
            connection.execute("SET statement_timeout = 0")
            assert connection.execute("SELECT 1").fetchone() == (1,)
        by_text(connection, "wine")
    assert ended[True], ended
