"""What goes wrong around a door: nothing is half done, nothing stays open, memory does not grow."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from subprocess import Popen
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgblend.cli.base.database import connect
from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.operate.cluster import Cluster
from pgblend.migrations import runner
from support.database import Database
from support.door import door_process, resident
from support.outside import WAIT, fill_library, take_python_away
from support.server import kill_server, temporary_cluster
from support.waiting import wait_until

pytestmark = pytest.mark.slow
MOST, STATEMENTS = 300, 100_000
SEARCH = "SELECT chunk_id FROM blend.lexical_search(%s, 3)"
OPEN = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
)
SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    " AND pid <> pg_backend_pid()"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A server of its own whose library has no program inside."""
    with temporary_cluster(durable=True, max_connections=str(MOST + 20)) as made:
        url = url_of(made)
        runner.upgrade(url)
        with connect(url) as connection:
            connection.autocommit = True
            fill_library(Database(connection))
            Database(connection).rows(WAIT)
            connection.execute("CREATE TABLE public.kept (n int PRIMARY KEY, v int DEFAULT 0)")
            connection.execute("INSERT INTO public.kept SELECT g FROM generate_series(1, 9) AS g")
        take_python_away(url)
        yield made


def url_of(cluster: Cluster) -> str:
    given = cluster.connection_parameters()
    return make_conninfo(**{one: given[one] for one in ("host", "port", "user", "password")},
                         dbname="postgres")  # fmt: skip


@pytest.fixture
def door(cluster: Cluster) -> Iterator[tuple[str, "Popen[bytes]"]]:
    """A door in a process of its own; nothing of its sessions is left once it is gone."""
    with door_process(url_of(cluster), "--connections", str(MOST)) as made:
        yield made
    wait_until(lambda: asked(cluster, SESSIONS) == 0, seconds=60)


def asked(cluster: Cluster, statement: str) -> Any:
    with psycopg.connect(url_of(cluster), autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row[0]


def opened(url: str) -> "psycopg.Connection[Any]":
    return psycopg.connect(url, autocommit=True)


@pytest.mark.fault(
    "the server of a door ends and comes back",
    "its sessions end with an error, new ones work, what was not committed is gone",
)
def test_the_server_restarts(cluster: Cluster, door: tuple[str, Any]) -> None:
    url, process = door
    connection = opened(url)
    connection.execute("BEGIN")
    connection.execute("UPDATE public.kept SET v = 1")
    assert len(connection.execute(SEARCH, ("wine",)).fetchall()) == 3
    kill_server(cluster)
    with pytest.raises(psycopg.OperationalError):
        connection.execute(SEARCH, ("wine",))
    with pytest.raises(psycopg.OperationalError, match="cannot reach the server"):
        opened(url)
    cluster.start()
    with opened(url) as again:
        assert len(again.execute(SEARCH, ("wine",)).fetchall()) == 3
        assert again.execute("SELECT sum(v) FROM public.kept").fetchone() == (0,)
    assert process.poll() is None


@pytest.mark.fault("a door is killed", "the server takes back what its sessions had not committed")
def test_the_door_is_killed(cluster: Cluster) -> None:
    with door_process(url_of(cluster)) as (url, process):
        connection = opened(url)
        connection.execute("BEGIN")
        connection.execute("UPDATE public.kept SET v = 1")
        connection.execute(SEARCH, ("wine",))
        children = psutil.Process(process.pid).children()
        process.kill()
        psutil.wait_procs(children, 20)  # they end with it
        with pytest.raises(psycopg.OperationalError):
            connection.execute("COMMIT")
    wait_until(lambda: asked(cluster, SESSIONS) == 0, seconds=60)
    assert asked(cluster, "SELECT sum(v) FROM public.kept") == 0


@pytest.mark.fault(
    "a client of a door vanishes in the middle", "its session ends, and its transaction with it"
)
@pytest.mark.parametrize("when", ["a transaction", "a search", "an answer", "a message", "a login"])
def test_a_client_vanishes(cluster: Cluster, door: tuple[str, Any], when: str) -> None:
    url, process = door
    if when == "a login":
        given = conninfo_to_dict(url)
        place = str(given["host"]), int(str(given["port"]))
        with socket.create_connection(place) as there:
            there.sendall(struct.pack("!ii", 8, wire.SSL_REQUEST))
        with socket.create_connection(place) as there:
            there.sendall(b"\0\0")
    else:
        connection = opened(url)
        connection.execute("BEGIN")
        connection.execute("UPDATE public.kept SET v = 1")
        sent = {
            "a transaction": b"",
            "a search": wire.query("SELECT * FROM blend.lexical_search('wine')"),
            "an answer": wire.query("SELECT repeat('x', 1000) FROM generate_series(1, 200000)"),
            "a message": wire.query("SELECT 1")[:7],
        }[when]
        there = socket.socket(fileno=connection.fileno())
        there.setblocking(True)
        there.sendall(sent)
        # Reset, not closed: nothing that is on its way is taken.
        there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        there.close()
        with suppress(psycopg.Error, OSError):
            connection.close()
    wait_until(lambda: asked(cluster, SESSIONS) == 0, seconds=60)
    assert asked(cluster, "SELECT sum(v) FROM public.kept") == 0
    with opened(url) as other:
        assert len(other.execute(SEARCH, ("wine",)).fetchall()) == 3
    assert process.poll() is None


@pytest.mark.fault("300 sessions through one door", "all search; one more is refused by name")
def test_many_sessions(cluster: Cluster, door: tuple[str, Any]) -> None:
    url, _ = door
    with ExitStack() as stack:
        sessions = [stack.enter_context(opened(url)) for _ in range(MOST)]
        with pytest.raises(psycopg.OperationalError, match="has 300 sessions already"):
            opened(url)
        found: list[int] = []

        def search(part: list["psycopg.Connection[Any]"]) -> None:
            for one in part:
                found.append(len(one.execute(SEARCH, ("wine",)).fetchall()))

        threads = [threading.Thread(target=search, args=(sessions[n::30],)) for n in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [3] * MOST
        assert asked(cluster, OPEN) == 0


@pytest.mark.fault("a client of a door does not read", "others go on, and the door keeps little")
def test_a_slow_client(cluster: Cluster, door: tuple[str, Any]) -> None:
    url, process = door
    with opened(url) as slow, opened(url) as other:
        before = resident(process)
        there = socket.socket(fileno=slow.fileno())
        there.setblocking(True)
        there.sendall(
            wire.query("SELECT repeat(md5(g::text), 320) FROM generate_series(1, 20000) AS g")
        )
        for _ in range(20):
            assert len(other.execute(SEARCH, ("wine",)).fetchall()) == 3
            time.sleep(0.1)
        assert resident(process) - before < 60 << 20  # of 200 MB
        received = 0
        while received < 20_000 * 10_240:
            received += len(there.recv(1 << 20))
        there.detach()


@pytest.mark.fault("time is over in a search", "57014, as inside; the session goes on")
def test_time_is_over(cluster: Cluster, door: tuple[str, Any]) -> None:
    with opened(door[0]) as connection:
        assert len(connection.execute(SEARCH, ("wine",)).fetchall()) == 3
        late = "SELECT pg_sleep(9), count(*) FROM blend.lexical_search('wine', 3)"
        connection.execute("SET statement_timeout = '500ms'")
        for begins in ("SELECT 1", "BEGIN"):
            connection.execute(begins.encode())
            with pytest.raises(psycopg.errors.QueryCanceled):
                connection.execute(late.encode())
        connection.execute("ROLLBACK")
        connection.execute("SET statement_timeout = 0")
        assert len(connection.execute(SEARCH, ("wine",)).fetchall()) == 3
        assert asked(cluster, OPEN) == 0


@pytest.mark.fault("two sessions of a door deadlock", "one ends with 40P01, the other commits")
def test_a_deadlock(cluster: Cluster, door: tuple[str, Any]) -> None:
    url, _ = door
    ended: list[str | None] = []
    both = threading.Barrier(2)

    def writes(first: int, then: int) -> None:
        update = "UPDATE public.kept SET v = 0 WHERE n = %s AND"
        update += " (SELECT count(*) FROM blend.lexical_search('wine', 3)) = 3"
        with opened(url) as connection:
            try:
                with connection.transaction():
                    connection.execute(update.encode(), (first,))
                    both.wait(60)
                    connection.execute(update.encode(), (then,))
                ended.append(None)
            except psycopg.Error as error:
                ended.append(error.sqlstate)

    threads = [threading.Thread(target=writes, args=pair) for pair in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended, key=str) == ["40P01", None]
    assert asked(cluster, OPEN) == 0


@pytest.mark.fault("a door runs for long", "its memory does not grow with what it handed on")
def test_memory_is_flat(cluster: Cluster, door: tuple[str, Any]) -> None:
    url, process = door
    grown: list[int] = []
    with opened(url) as connection:
        for number in range(STATEMENTS):
            if number % 100 == 0:
                connection.execute(SEARCH, (f"wine {number}",))
                connection.execute(
                    f"SELECT count(*) FROM blend.lexical_search('n{number}')".encode()
                )
            else:
                connection.pgconn.exec_(f"SELECT {number}".encode())
            if number % (STATEMENTS // 10) == 0:
                grown.append(resident(process))
    # The first tenth fills caches.
    assert max(grown[2:]) - grown[2] < 16 << 20, grown
