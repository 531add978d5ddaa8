"""HTTP POST of a JSON text, with keep-alive and a wait that can be interrupted."""

import http.client
import signal
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, MutableMapping
from typing import Any


def post_json(
    base_url: str,
    path: str,
    body: str,
    token: str | None,
    timeout_ms: int,
    connections: MutableMapping[str, http.client.HTTPConnection],
    check_interrupts: Callable[[], object],
) -> tuple[int, str]:
    """POST `body` (JSON text) to `base_url` + `path` and return (status, response text).

    `base_url` is http://host:port, https://… or unix:/path/of/socket. `connections` is a dict that
    keeps one open connection per base URL between calls. While the request runs in a thread,
    `check_interrupts` is called every 20 ms; whatever it raises ends the call and closes the
    connection. The thread touches nothing but the socket. A kept connection that the server has
    closed meanwhile is replaced once.

    Raises TimeoutError after `timeout_ms`, OSError or http.client.HTTPException when the exchange
    fails, and ValueError for a base URL of another form.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    headers = {"Content-Type": "application/json"}
    prefix = (
        "" if base_url.startswith("unix:") else urllib.parse.urlsplit(base_url).path.rstrip("/")
    )
    if token:
        headers["Authorization"] = "Bearer " + token
    while True:
        kept = connections.pop(base_url, None)
        connection = kept or open_connection(base_url)
        exchange: dict[str, Any] = {"finished": threading.Event(), "abandoned": False}
        set_timeout(connection, timeout_ms / 1000)
        thread = threading.Thread(
            target=run_exchange,
            args=(connection, prefix + path, body, headers, exchange),
            daemon=True,
        )
        start_without_signals(thread)
        try:
            wait_for(exchange["finished"], deadline, check_interrupts)
        except BaseException:
            exchange["abandoned"] = True
            close(connection)
            raise
        if "response" in exchange:
            if exchange["reusable"]:
                connections[base_url] = connection
            else:
                close(connection)
            response: tuple[int, str] = exchange["response"]
            return response
        close(connection)
        closed_by_server = isinstance(
            exchange["error"], (ConnectionError, http.client.BadStatusLine)
        )
        if not (kept and closed_by_server):
            raise exchange["error"]


def open_connection(base_url: str) -> http.client.HTTPConnection:
    """Return an HTTPConnection for the URL; it connects at the first request."""
    parts = urllib.parse.urlsplit(base_url)
    if parts.scheme == "unix" and parts.path:
        return UnixConnection(parts.path)
    if parts.scheme in ("http", "https") and parts.hostname:
        factory: dict[str, type[http.client.HTTPConnection]] = {
            "http": http.client.HTTPConnection,
            "https": http.client.HTTPSConnection,
        }
        return factory[parts.scheme](parts.hostname, parts.port)
    raise ValueError(
        f"the gateway's address is {base_url!r}: expected http://host:port or unix:/path"
    )


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, socket_path: str) -> None:
        http.client.HTTPConnection.__init__(self, "localhost")
        self.socket_path = socket_path

    def connect(self) -> None:
        """Connect to the socket's path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.socket_path)


def set_timeout(connection: http.client.HTTPConnection, seconds: float) -> None:
    """Let no step of the thread take longer than this call's deadline, on a kept socket too."""
    connection.timeout = seconds
    if connection.sock is not None:
        connection.sock.settimeout(seconds)


def run_exchange(
    connection: http.client.HTTPConnection,
    target: str,
    body: str,
    headers: dict[str, str],
    exchange: dict[str, Any],
) -> None:
    """Send the request and read the answer; runs in the thread.

    Whoever waits may have left while the thread was connecting: then nothing is sent any more.
    """
    try:
        if connection.sock is None:
            connection.connect()
        if exchange["abandoned"]:
            close(connection)
            return
        connection.request("POST", target, body.encode(), headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        exchange["reusable"] = not response.will_close
        exchange["response"] = (response.status, text)
    except Exception as error:
        exchange["error"] = error
    finally:
        exchange["finished"].set()


def start_without_signals(thread: threading.Thread) -> None:
    """Start the thread with all signals blocked: they belong to the thread that waits."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def wait_for(
    finished: threading.Event, deadline: float, check_interrupts: Callable[[], object]
) -> None:
    """Wait in steps of 20 ms, so that a cancel is seen soon."""
    while not finished.wait(0.02):
        check_interrupts()
        if time.monotonic() >= deadline:
            raise TimeoutError("no answer in time")


def close(connection: http.client.HTTPConnection) -> None:
    """Shut the socket down first: that wakes the thread up where it still reads."""
    try:
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
