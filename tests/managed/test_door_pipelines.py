"""Pipelines through a door: bit by bit, of named statements, and canceled in any part."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import pytest
from psycopg import generators, waiting
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import DiagnosticField, ExecStatus

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.own_statements import FORGET
from support.door import door_process

pytestmark = pytest.mark.extended
SEARCH = "SELECT count(*) FROM blend.lexical_search('wine', 3)"
KEEP = "INSERT INTO public.kept VALUES ('{0}')"
Connection = psycopg.Connection[Any]


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


@pytest.mark.parametrize("replaces", [False, True])
def test_what_the_client_prepared_stays_when_it_is_parsed_anew(
    managed: str, door: str, replaces: bool
) -> None:
    statement = f"SELECT pg_sleep($1), (SELECT count(*) FROM public.kept), ({SEARCH})"
    with (
        psycopg.connect(managed) as other,
        psycopg.connect(door, autocommit=True) as connection,
    ):
        asked = connection.pgconn
        if replaces:
            asked.prepare(b"mine", b"SELECT 1")
        lock = threading.Timer(0.5, other.execute, ("LOCK TABLE public.kept",))
        lock.start()  # it waits until the statement is taken back, and then that waits for it
        threading.Timer(2, connection.cancel_safe).start()
        asked.enter_pipeline_mode()
        if replaces:
            asked.send_close_prepared(b"mine")
        asked.send_prepare(b"mine", statement.encode())
        asked.send_query_prepared(b"mine", [b"1"])
        asked.send_flush_request()
        asked.flush()
        found = [found_by(connection) for _ in range(6 if replaces else 4)]
        done = [ExecStatus.COMMAND_OK, None] * (2 if replaces else 1)
        assert found == [*done, ExecStatus.FATAL_ERROR, None]
        asked.pipeline_sync()
        assert found_by(connection) == ExecStatus.PIPELINE_SYNC
        asked.exit_pipeline_mode()
        lock.join()
        other.rollback()
        assert asked.exec_prepared(b"mine", [b"0"]).status == ExecStatus.TUPLES_OK


def test_a_statement_is_closed_behind_its_search(door: str) -> None:
    with psycopg.connect(door, autocommit=True) as connection:
        asked = connection.pgconn
        for _ in range(2):
            asked.enter_pipeline_mode()
            asked.send_prepare(b"mine", SEARCH.encode())
            asked.send_query_prepared(b"mine", None)
            asked.send_close_prepared(b"mine")
            asked.pipeline_sync()
            done, rows = ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK
            expected = [done, None, rows, None, done, None, ExecStatus.PIPELINE_SYNC]
            assert list_found(connection) == expected
            asked.exit_pipeline_mode()
        assert asked.exec_prepared(b"mine", None).error_field(DiagnosticField.SQLSTATE) == b"26000"


def test_one_name_of_two_statements_before_a_search_is_refused(
    door: str, kept: Callable[[], list[str]]
) -> None:
    """To run both once more would take the second for the first."""
    with psycopg.connect(door, autocommit=True) as connection:
        asked = connection.pgconn
        asked.enter_pipeline_mode()
        for statement in (KEEP.format("first"), KEEP.format("second")):
            asked.send_prepare(b"mine", statement.encode())
            asked.send_query_prepared(b"mine", None)
            asked.send_close_prepared(b"mine")
        asked.send_query_params(SEARCH.encode(), None)
        asked.pipeline_sync()
        failed = [ExecStatus.FATAL_ERROR, None, ExecStatus.PIPELINE_SYNC]
        assert list_found(connection) == [ExecStatus.COMMAND_OK, None] * 6 + failed
        asked.exit_pipeline_mode()
        assert kept() == []
        connection.execute("SELECT 1")


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
        (SEARCH, wire.query(FORGET), wire.query(SLEEP)),
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
        assert connection.info.transaction_status.name == ("INERROR" if begins else "IDLE")
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
