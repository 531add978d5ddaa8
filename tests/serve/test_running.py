"""A door that ends, one that takes over, and a database that is away."""

import http.client
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from support.model_provider import Behaviour
from support.serve_process import ServeProcess
from support.waiting import SOON_SECONDS, wait_until

BODY = b'{"query": "wine"}'


def test_sigterm_ends_running_calls_well(door: Any, models: Any) -> None:
    models.behaviours["embed"] = Behaviour(delay_seconds=1)
    answers: list[httpx.Response] = []
    with ServeProcess(door.login_url, "--drain-seconds", "0.2") as ending:
        with ending.client(door.tokens["open"]) as client:
            call = threading.Thread(
                target=lambda: answers.append(client.post("/v1/search", content=BODY, headers=JSON))
            )
            before = len(models.bodies)
            call.start()
            wait_until(lambda: len(models.bodies) > before, SOON_SECONDS)
            ending.process.send_signal(signal.SIGTERM)
            call.join(SOON_SECONDS)
        assert ending.process.wait(SOON_SECONDS) == 0
    assert answers[0].status_code == 200
    assert answers[0].headers["connection"] == "close"
    assert answers[0].json()["degraded"] == []


JSON = {"Content-Type": "application/json"}


class Callers:
    """Threads that search without end, each over a connection that it keeps while it may."""

    def __init__(self, url: str, token: str, count: int) -> None:
        self.done = 0
        self.failures: list[str] = []
        self._stop = threading.Event()
        self._address = urlsplit(url)
        self._headers = JSON | {"Authorization": f"Bearer {token}"}
        self._threads = [threading.Thread(target=self._call) for _ in range(count)]

    def _call(self) -> None:
        connection = http.client.HTTPConnection(
            str(self._address.hostname), self._address.port, timeout=SOON_SECONDS
        )
        while not self._stop.is_set():
            try:
                connection.request("POST", "/v1/search", BODY, self._headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    self.failures.append(str(answer.status))
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                connection.close()
            self.done += 1
        connection.close()

    @contextmanager
    def calling(self) -> Iterator["Callers"]:
        for thread in self._threads:
            thread.start()
        yield self
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [1, 10])
def test_rolling_restarts_lose_no_request(door: Any, restarts: int) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener, ExitStack() as stack:
        fd = listener.fileno()

        def start() -> ServeProcess:
            return stack.enter_context(
                ServeProcess(door.login_url, "--fd", str(fd), "--pool-size", "2", pass_fds=(fd,))
            )

        running = start()
        with Callers(running.url, door.tokens["open"], 4).calling() as callers:
            for _ in range(restarts):
                before = callers.done
                wait_until(lambda: callers.done > before + 20, SOON_SECONDS)  # noqa: B023
                successor = start()
                assert running.stop() == 0
                running = successor
            before = callers.done
            wait_until(lambda: callers.done > before + 20, SOON_SECONDS)
    assert callers.failures == []


def test_a_database_that_is_away(door: Any, client: httpx.Client) -> None:
    """It is told with the reason, and back again nobody notices."""
    name = door.admin.connection.info.dbname
    assert client.post("/v1/search", content=BODY, headers=JSON).status_code == 200
    with psycopg.connect(door.admin.url, dbname="postgres", autocommit=True) as other:
        other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        other.execute(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity"
            " WHERE application_name = 'pgblend serve' AND datname = %s",
            [name],
        )
        try:
            for path in ("/v1/search", "/health"):
                refused = client.request(
                    "GET" if path == "/health" else "POST", path, content=BODY, headers=JSON
                )
                assert refused.status_code == 503
                assert refused.headers["retry-after"] == "1"
                problem = refused.json()
                assert problem["type"] == "urn:pgblend:problem:database-away"
                assert "is not currently accepting connections" in problem["detail"]
        finally:
            other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    wait_until(lambda: client.get("/health").status_code == 200, SOON_SECONDS)
    assert client.post("/v1/search", content=BODY, headers=JSON).status_code == 200


def test_connections_that_were_lost_are_made_again(door: Any, client: httpx.Client) -> None:
    for _ in range(3):
        door.admin.rows(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity"
            " WHERE application_name = 'pgblend serve' AND datname = current_database()"
        )
        answer = client.post("/v1/search", content=BODY, headers=JSON)
        assert answer.status_code == 200, answer.text


@pytest.mark.slow
def test_a_token_has_but_so_many_calls_at_a_time(door: Any, models: Any) -> None:
    models.behaviours["embed"] = Behaviour(delay_seconds=1)
    token = door.tokens["open"]
    with (
        ServeProcess(door.login_url, "--concurrency", "1") as process,
        process.client(token) as client,
        process.client(token) as other,
    ):
        call = threading.Thread(
            target=lambda: client.post("/v1/search", content=BODY, headers=JSON)
        )
        before = len(models.bodies)
        call.start()
        wait_until(lambda: len(models.bodies) > before, SOON_SECONDS)
        refused = other.post("/v1/search", content=BODY, headers=JSON)
        call.join()
    assert refused.status_code == 429
    assert refused.json()["type"] == "urn:pgblend:problem:too-many-calls"


@pytest.mark.slow
def test_headers_that_never_end(door: Any) -> None:
    with ServeProcess(door.login_url, "--header-timeout", "0.2", "--pool-size", "1") as process:
        address = urlsplit(process.url)
        with socket.create_connection((str(address.hostname), address.port or 0)) as slow:
            slow.settimeout(SOON_SECONDS)
            slow.sendall(b"POST /v1/search HTTP/1.1\r\n")
            answer = slow.recv(4096)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"application/problem+json" in answer
