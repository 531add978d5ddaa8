"""The HTTP client of the database, as plain Python against real sockets."""

import http.client
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pgblend.plpy.models.gateway import Connections, HttpExchange
from support.raw_server import RawServer, http_answer
from support.waiting import wait_until

MOST_BYTES = 1_000_000


def nothing() -> None:
    """No interrupt is pending."""


def request_of(url: str, path: str, body: str, timeout_ms: int) -> dict[str, str | int]:
    """Return a request as _gateway_request makes it, as far as an exchange reads it."""
    sent = {"url": url, "path": path, "body": body}
    return {**sent, "timeout_ms": timeout_ms, "most_bytes": MOST_BYTES}


def post_json(
    url: str,
    path: str,
    body: str,
    token: str | None,
    timeout_ms: int,
    connections: Connections,
    check: Callable[[], object],
) -> tuple[int, str]:
    """Send and receive at once."""
    return HttpExchange(request_of(url, path, body, timeout_ms), token, connections).receive(check)


@pytest.fixture
def connections() -> Iterator[Connections]:
    kept: Connections = {}
    yield kept
    for connection in kept.values():
        connection.close()
    wait_until(no_exchange_runs, 1)


def test_one_connection_for_many_calls(connections: Connections) -> None:
    with RawServer(lambda body: http_answer(body[::-1])) as server:
        for text in ("ab", "cd"):
            answer = post_json(server.url, "/x", text, None, 1000, connections, nothing)
            assert answer == (200, text[::-1])
        assert server.connections == 1
        assert list(connections) == [server.url]


@pytest.mark.parametrize("headers", [["Connection: close"], []])
def test_what_the_server_closes_is_not_kept(connections: Connections, headers: list[str]) -> None:
    answer = http_answer(b"{}", "200 OK", *headers)
    with RawServer(lambda _: answer, keep_alive=not headers) as server:
        post_json(server.url, "/x", "{}", None, 1000, connections, nothing)
        assert bool(connections) is not bool(headers)
        server.close_connections()
        assert post_json(server.url, "/x", "{}", None, 1000, connections, nothing)[0] == 200
        assert server.connections == 2


def test_token_and_path(connections: Connections) -> None:
    seen: list[bytes] = []

    class Recorder(http.client.HTTPConnection):
        """Note what is sent."""

        def send(self, data: bytes) -> None:  # type: ignore[override]
            seen.append(data)
            super().send(data)

    with RawServer(lambda _: http_answer(b"{}")) as server:
        url = f"{server.url}/base/"
        connections[url] = Recorder("127.0.0.1", int(server.url.rpartition(":")[2]))
        post_json(url, "/v1/x", "{}", "secret", 1000, connections, nothing)
    head = b"".join(seen).decode()
    assert head.startswith("POST /base/v1/x HTTP/1.1")
    assert "Authorization: Bearer secret" in head


@pytest.mark.parametrize("timeout_ms", [1, 100])
def test_the_deadline_holds(connections: Connections, timeout_ms: int) -> None:
    with RawServer(lambda _: None) as server, pytest.raises(TimeoutError):
        post_json(server.url, "/x", "{}", None, timeout_ms, connections, nothing)
    assert connections == {}


def test_whatever_the_check_raises_ends_the_call(connections: Connections) -> None:
    class Cancelled(BaseException):
        """Not even an Exception."""

    checks: list[None] = []

    def check() -> None:
        checks.append(None)
        if len(checks) == 3:
            raise Cancelled

    with RawServer(lambda _: None) as server, pytest.raises(Cancelled):
        post_json(server.url, "/x", "{}", None, 60_000, connections, check)
    assert len(checks) == 3  # long before the deadline, which would be another error
    assert connections == {}


def test_a_connection_closed_meanwhile_is_replaced_once(connections: Connections) -> None:
    with RawServer(lambda _: http_answer(b"{}")) as server:
        post_json(server.url, "/x", "{}", None, 1000, connections, nothing)
        server.respond = lambda _: b""
        server.keep_alive = False
        server.close_connections()
        with pytest.raises((ConnectionError, http.client.BadStatusLine)):
            post_json(server.url, "/x", "{}", None, 1000, connections, nothing)
        assert server.connections == 2


def test_unix_socket(tmp_path: Path, connections: Connections) -> None:
    with RawServer(lambda _: http_answer(b"{}"), f"{tmp_path}/gateway.sock") as server:
        for _ in range(2):
            answer = post_json(server.url, "/x", "{}", None, 1000, connections, nothing)
            assert answer == (200, "{}")
        assert server.connections == 1


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("ftp://x", ValueError),
        ("http://", ValueError),
        ("unix:", ValueError),
        ("", ValueError),
        ("unix:/nowhere/gateway.sock", FileNotFoundError),
        ("http://127.0.0.1:1", ConnectionRefusedError),
        ("http://127.0.0.1:port", ValueError),
        ("http://no.such.host.invalid", OSError),
    ],
)
def test_addresses_that_lead_nowhere(
    connections: Connections, url: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        post_json(url, "/x", "{}", None, 2000, connections, nothing)
    assert connections == {}


def test_nothing_is_sent_once_nobody_waits(connections: Connections) -> None:
    """Connecting took longer than the caller waited: the thread must not go on."""
    started, go_on, sent = threading.Event(), threading.Event(), []

    class Slow(http.client.HTTPConnection):
        """Connects when told to."""

        def connect(self) -> None:
            started.set()
            go_on.wait(5)
            super().connect()

        def send(self, data: bytes) -> None:  # type: ignore[override]
            sent.append(data)
            super().send(data)

    def check() -> None:
        if started.is_set():
            raise KeyboardInterrupt

    with RawServer(lambda _: http_answer(b"{}")) as server:
        connections[server.url] = Slow("127.0.0.1", int(server.url.rpartition(":")[2]))
        with pytest.raises(KeyboardInterrupt):
            post_json(server.url, "/x", "{}", None, 5000, connections, check)
        go_on.set()
        wait_until(no_exchange_runs, 2)
    assert sent == []


def no_exchange_runs() -> bool:
    return not any("run_exchange" in thread.name for thread in threading.enumerate())


def test_the_server_works_while_the_caller_does_something_else(connections: Connections) -> None:
    asked = threading.Event()

    def respond(_: bytes) -> bytes:
        asked.set()
        return http_answer(b"{}")

    with RawServer(respond) as server:
        exchange = HttpExchange(request_of(server.url, "/x", "{}", 1000), None, connections)
        exchange.wait_until_sent(nothing)
        assert asked.wait(1)
        assert exchange.receive(nothing) == (200, "{}")
    assert list(connections) == [server.url]


def test_an_answer_that_nobody_wants_closes_the_connection(connections: Connections) -> None:
    with RawServer(lambda _: http_answer(b"{}")) as server:
        exchange = HttpExchange(request_of(server.url, "/x", "{}", 1000), None, connections)
        wait_until(exchange.finished.is_set, 2)
        exchange.abandon()
        assert connections == {}
        assert exchange.connection.sock is None


def test_two_exchanges_at_once_keep_one_connection(connections: Connections) -> None:
    with RawServer(lambda body: http_answer(body)) as server:
        both = [
            HttpExchange(request_of(server.url, "/x", text, 1000), None, connections)
            for text in ("a", "b")
        ]
        assert [exchange.receive(nothing)[1] for exchange in both] == ["a", "b"]
        assert len(connections) == 1
        assert both[1].connection.sock is None
