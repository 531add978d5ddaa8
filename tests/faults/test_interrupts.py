"""A hanging model call ends soon after a timeout, a cancel or a terminate."""

import threading
from collections.abc import Callable

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.backend import held
from support.database import Database
from support.model_provider import Behaviour, ModelProvider
from support.waiting import wait_until

# Its limit is far beyond what `wait_until` waits: what ends within that was ended.
CALL = "SELECT embed_text(ARRAY['x'], timeout_ms => 600000)"


@pytest.fixture
def hanging(provider: ModelProvider) -> ModelProvider:
    provider.behaviour = Behaviour(hang=True)
    return provider


@pytest.fixture
def other(client: Database) -> psycopg.Connection:
    """A session of its own, which may be killed."""
    with connect(client.url) as connection:
        yield connection


def ended_by(
    connection: psycopg.Connection, hanging: ModelProvider, end: Callable[[], object]
) -> psycopg.Error:
    """Call the hanging gateway, and once it hangs end the call; return the error."""
    errors: list[psycopg.Error] = []

    def call() -> None:
        try:
            connection.execute(CALL)
        except psycopg.Error as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    wait_until(lambda: hanging.requests)
    end()
    wait_until(lambda: not thread.is_alive())
    return errors[0]


@pytest.mark.fault("statement_timeout while a model is asked", "ends in time")
def test_statement_timeout(
    client: Database, other: psycopg.Connection, hanging: ModelProvider
) -> None:
    other.execute("SELECT embed_text('{}')")  # loads the program, so that time is left to ask
    other.execute("SET statement_timeout = 500")
    assert ended_by(other, hanging, lambda: None).sqlstate == "57014"
    other.execute("RESET statement_timeout")
    assert_usable(Database(other), hanging)


@pytest.mark.fault("cancel while a model is asked", "ends at once, the session lives")
def test_cancel(client: Database, other: psycopg.Connection, hanging: ModelProvider) -> None:
    pid = other.info.backend_pid
    error = ended_by(other, hanging, lambda: client.rows("SELECT pg_cancel_backend(%s)", pid))
    assert error.sqlstate == "57014"
    assert_usable(Database(other), hanging)


@pytest.mark.fault("a session terminated while a model is asked", "ends at once, nothing held")
def test_terminate(client: Database, other: psycopg.Connection, hanging: ModelProvider) -> None:
    pid = other.info.backend_pid
    error = ended_by(other, hanging, lambda: client.rows("SELECT pg_terminate_backend(%s)", pid))
    assert isinstance(error, psycopg.OperationalError)
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
    wait_until(lambda: hanging.requests)
    connection.pgconn.finish()
    query = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    wait_until(lambda: client.value(query, pid) == 0)


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
