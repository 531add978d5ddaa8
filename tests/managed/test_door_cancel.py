"""A cancel through a door, at any moment: rows or 57014, and a session that goes on as inside."""

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import pytest
from psycopg import generators, waiting
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ExecStatus, TransactionStatus

from pgblend.cli.base.database import connect
from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.telling import FORGET
from support.database import Database
from support.door import door_process
from support.outside import WAIT, fill_library, take_python_away

pytestmark = pytest.mark.extended
COUNT = 8  # of each kind and door
LATEST_MS = 30
SEARCH = "SELECT count(*) FROM blend.lexical_search('{0}', 3)"
MANY = "SELECT sum(n) FROM (SELECT (" + SEARCH.format("wine ' || g || '") + ") AS n FROM"
MANY += " generate_series(1, 300) AS g) AS s"
KEEP = "INSERT INTO public.kept VALUES ('{0}')"
Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def managed(module_url: str) -> str:
    """A library without a program inside, and a table to write to."""
    with connect(module_url) as connection:
        connection.autocommit = True
        library = Database(connection)
        fill_library(library)
        library.rows(WAIT)
        library.rows("CREATE TABLE public.kept (mark text)")
    take_python_away(module_url)
    return module_url


@pytest.fixture(scope="module", params=["1", "3"])
def door(managed: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A door of one process, and of several: a cancel may come to another than has the session."""
    with door_process(managed, "--processes", request.param) as (url, _):
        yield url


@pytest.fixture
def kept(managed: str) -> Callable[[], list[str]]:
    """Whatever is committed of what a test wrote."""
    with psycopg.connect(managed, autocommit=True) as other:
        other.execute("TRUNCATE public.kept")

    def rows() -> list[str]:
        with psycopg.connect(managed, autocommit=True) as other:
            return [mark for (mark,) in other.execute("SELECT mark FROM public.kept ORDER BY mark")]

    return rows


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


def found_by(connection: Connection) -> ExecStatus | None:
    """Return how the next result of a pipeline ended, None where a command has no more."""
    result = waiting.wait(generators.fetch(connection.pgconn), connection.pgconn.socket)
    return result and ExecStatus(result.status)


def list_found(connection: Connection) -> list[ExecStatus | None]:
    """Return how the results of a pipeline ended until its Sync."""
    found: list[ExecStatus | None] = []
    while not found or found[-1] != ExecStatus.PIPELINE_SYNC:
        found.append(found_by(connection))
    return found


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


def test_what_the_client_prepared_stays_when_it_is_parsed_anew(managed: str, door: str) -> None:
    statement = "SELECT pg_sleep($1), (SELECT count(*) FROM public.kept), "
    statement += f"({SEARCH.format('wine')})"
    with (
        psycopg.connect(managed) as other,
        psycopg.connect(door, autocommit=True) as connection,
    ):
        asked = connection.pgconn
        lock = threading.Timer(0.5, other.execute, ("LOCK TABLE public.kept",))
        lock.start()  # it waits until the statement is taken back, and then that waits for it
        threading.Timer(2, connection.cancel_safe).start()
        asked.enter_pipeline_mode()
        asked.send_prepare(b"mine", statement.encode())
        asked.send_query_prepared(b"mine", [b"1"])
        asked.send_flush_request()
        asked.flush()
        found = [found_by(connection) for _ in range(4)]
        assert found == [ExecStatus.COMMAND_OK, None, ExecStatus.FATAL_ERROR, None]
        asked.pipeline_sync()
        assert found_by(connection) == ExecStatus.PIPELINE_SYNC
        asked.exit_pipeline_mode()
        lock.join()
        other.rollback()
        assert asked.exec_prepared(b"mine", [b"0"]).status == ExecStatus.TUPLES_OK


SLEEP = "SELECT pg_catalog.pg_sleep(60)"


def parse(statement: str) -> bytes:
    return wire.message(wire.PARSE, b"\0" + statement.encode() + b"\0\0\0")


@contextmanager
def slow(url: str, given: bytes, instead: bytes) -> Iterator[str]:
    """A relay to the server, where a message takes its time and answers come one by one."""
    place = conninfo_to_dict(url)

    def answer(there: socket.socket, connection: socket.socket) -> None:
        came = bytearray()
        with suppress(OSError):
            while data := there.recv(1 << 16):
                came += data
                for part in wire.take_messages(came):
                    connection.sendall(part)
                    time.sleep(0.02)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def hand_on(connection: socket.socket) -> None:
        address = str(place["host"]), int(place["port"] or 0)
        with connection, socket.create_connection(address) as there:
            threading.Thread(target=answer, args=(there, connection), daemon=True).start()
            while data := connection.recv(1 << 16):
                there.sendall(data.replace(given, instead))

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=hand_on, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listen, daemon=True).start()
        yield make_conninfo(url, host="127.0.0.1", port=listener.getsockname()[1])


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize(
    ("statement", "given", "instead"),
    [
        ("SELECT 1", parse("BEGIN"), parse(SLEEP)),
        (SEARCH.format("wine"), wire.query(FORGET), wire.query(SLEEP)),
    ],
    ids=["begins", "forgets"],
)
def test_a_cancel_of_what_the_door_does_until_a_flush(
    managed: str, statement: str, given: bytes, instead: bytes, begins: bool
) -> None:
    """It ends what was asked for, and what follows is skipped."""
    with (
        slow(managed, given, instead) as relay,
        door_process(relay) as (door, _),
        psycopg.connect(door, autocommit=True) as connection,
    ):
        asked = connection.pgconn
        asked.enter_pipeline_mode()
        if begins:
            asked.send_query_params(b"START TRANSACTION", None)
        asked.send_query_params(statement.encode(), None)
        asked.send_flush_request()
        asked.flush()
        time.sleep(3)  # in it the door's statement begins
        connection.cancel_safe()
        asked.send_query_params(b"SELECT 2", None)
        asked.pipeline_sync()
        began = [ExecStatus.COMMAND_OK, None] if begins else []
        ended = [ExecStatus.FATAL_ERROR, None, ExecStatus.PIPELINE_ABORTED, None]
        assert list_found(connection) == [*began, *ended, ExecStatus.PIPELINE_SYNC]
        asked.exit_pipeline_mode()
        assert status(connection) == ("INERROR" if begins else "IDLE")
        connection.execute("ROLLBACK")
        assert connection.execute("SELECT 2").fetchone() == (2,)


def test_what_follows_an_error_is_skipped_until_the_sync(
    door: str, kept: Callable[[], list[str]]
) -> None:
    with psycopg.connect(door, autocommit=True) as connection:
        asked = connection.pgconn
        asked.enter_pipeline_mode()
        asked.send_prepare(b"", b"SELEC 1")
        asked.send_flush_request()
        asked.flush()
        assert found_by(connection) == ExecStatus.FATAL_ERROR
        for word in ("first", "second"):
            asked.send_query_params(KEEP.format(word).encode(), None)
            asked.send_flush_request()
            asked.flush()
            time.sleep(0.2)  # they arrive apart
        asked.pipeline_sync()
        found = [one for one in list_found(connection) if one is not None]
        assert found == [*[ExecStatus.PIPELINE_ABORTED] * 2, ExecStatus.PIPELINE_SYNC]
        asked.exit_pipeline_mode()
        assert kept() == []


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
