"""A hanging model call ends soon after a timeout, a cancel or a terminate."""

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from pgblend.cli.database import connect
from support.backend import held
from support.database import Database
from support.model_provider import Behaviour, ModelProvider
from support.waiting import SOON_SECONDS, wait_until

CALL = "SELECT embed_text(ARRAY['x'], timeout_ms => 60000)"


@pytest.fixture
def hanging(provider: ModelProvider) -> ModelProvider:
    provider.behaviour = Behaviour(hang=True)
    return provider


@pytest.fixture
def other(client: Database) -> psycopg.Connection:
    """A session of its own, which may be killed."""
    with connect(client.url) as connection:
        yield connection


def run_and_end(
    connection: psycopg.Connection, hanging: ModelProvider, end: Callable[[], object]
) -> tuple[psycopg.Error, float]:
    """Call the hanging gateway, end the call once it hangs; return the error and the delay."""
    errors: list[psycopg.Error] = []

    def call() -> None:
        try:
            connection.execute(CALL)
        except psycopg.Error as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not hanging.requests:
        time.sleep(0.005)
    start = time.monotonic()
    end()
    thread.join(SOON_SECONDS)
    return errors[0], time.monotonic() - start


@pytest.mark.fault("statement_timeout while a model is asked", "ends in time")
def test_statement_timeout(client: Database, hanging: ModelProvider) -> None:
    client.rows("SET statement_timeout = 500")
    start = time.monotonic()
    error = client.error(CALL)
    seconds = time.monotonic() - start
    client.rows("RESET statement_timeout")
    assert error.sqlstate == "57014"
    assert 0.5 <= seconds < SOON_SECONDS
    assert_usable(client, hanging)


@pytest.mark.fault("cancel while a model is asked", "ends at once, the session lives")
def test_cancel(client: Database, other: psycopg.Connection, hanging: ModelProvider) -> None:
    pid = other.info.backend_pid
    error, delay = run_and_end(
        other, hanging, lambda: client.rows("SELECT pg_cancel_backend(%s)", pid)
    )
    assert error.sqlstate == "57014"
    assert delay < SOON_SECONDS
    assert_usable(Database(other), hanging)


@pytest.mark.fault("a session terminated while a model is asked", "ends at once, nothing held")
def test_terminate(client: Database, other: psycopg.Connection, hanging: ModelProvider) -> None:
    pid = other.info.backend_pid
    error, delay = run_and_end(
        other, hanging, lambda: client.rows("SELECT pg_terminate_backend(%s)", pid)
    )
    assert isinstance(error, psycopg.OperationalError)
    assert delay < SOON_SECONDS
    assert client.value("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", pid) == 0


@pytest.mark.fault("a client that leaves while a model is asked", "the server goes on")
def test_a_client_that_leaves_lets_the_server_go_on(
    client: Database, hanging: ModelProvider
) -> None:
    dsn = client.url
    connection = connect(dsn)
    connection.execute("SET client_connection_check_interval = 100")
    pid = connection.info.backend_pid
    connection.pgconn.send_query(CALL.encode())
    while not hanging.requests:
        time.sleep(0.005)
    connection.pgconn.finish()
    query = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    wait_until(lambda: client.value(query, pid) == 0, SOON_SECONDS)


@pytest.mark.fault("cancel in the middle of hybrid_search", "ends at once")
def test_hybrid_search_too(client: Database, hanging: ModelProvider) -> None:
    with client.connection.transaction(force_rollback=True):
        client.rows("SELECT create_embedding_space('s', 'm', 384, probe => false)")
        client.rows("SET LOCAL statement_timeout = 500")
        assert client.error("SELECT * FROM hybrid_search('x')").sqlstate == "57014"


def assert_usable(session: Database, provider: ModelProvider) -> None:
    """The session goes on, and nothing of the call is left: the client's socket is the only one."""
    assert held(session) == (0, 1)
    provider.reset()
    assert session.value("SELECT cardinality(embed_text(ARRAY['x']))") == 1
