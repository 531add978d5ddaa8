"""One call of the model gateway: sent first, received later, in a place of its own."""

import http.client
import os
import signal
import socket
import stat
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from pgblend.plpy.base.session import Database
from pgblend.plpy.models.limits import LateGateway, take_place
from pgblend.plpy.models.outcome import gateway_answer, problem

# One HTTP POST, sent first and received later, with a wait that can be interrupted.

Connections = MutableMapping[str, http.client.HTTPConnection]


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


class HttpExchange:
    """A POST of a request's `body` (JSON text) to its `url` + `path`; receive() gives its answer.

    `url` is http://host:port, https://… or unix:/path/of/socket: ValueError for another form.
    `connections` keeps one open connection per URL between exchanges. Its receive() raises
    TimeoutError after `timeout_ms` from now, and OverflowError where the answer has more than
    `most_bytes`. Where the exchange fails it raises OSError or http.client.HTTPException. The
    thread that sends and receives touches nothing but the socket.
    """

    def __init__(
        self, request: Mapping[str, Any], token: str | None, connections: Connections
    ) -> None:
        self.deadline = time.monotonic() + request["timeout_ms"] / 1000
        self.base_url: str = request["url"]
        is_path = self.base_url.startswith("unix:")
        prefix = "" if is_path else urllib.parse.urlsplit(self.base_url).path
        self.target = prefix.rstrip("/") + request["path"]
        self.body: str = request["body"]
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token
        self.most_bytes: int = request["most_bytes"]
        self.connections = connections
        self.received = False
        self.begin(connections.pop(self.base_url, None))

    def begin(self, kept: http.client.HTTPConnection | None) -> None:
        """Start the thread, on a kept connection or a new one."""
        self.kept = kept is not None
        self.connection = kept or open_connection(self.base_url)
        self.sent, self.finished = threading.Event(), threading.Event()
        self.abandoned = self.reusable = False
        self.response: tuple[int, str] | None = None
        self.error: Exception | None = None
        # No step of the thread takes longer than the deadline, on a kept socket too.
        self.connection.timeout = max(self.deadline - time.monotonic(), 0.001)
        if self.connection.sock is not None:
            self.connection.sock.settimeout(self.connection.timeout)
        start_without_signals(threading.Thread(target=self.run_exchange, daemon=True))

    def run_exchange(self) -> None:
        """Send the request and read the answer; runs in the thread.

        Whoever waits may have left while the thread was connecting: then nothing is sent any more.
        """
        connection = self.connection
        try:
            if connection.sock is None:
                connection.connect()
            if self.abandoned:
                close(connection)
                return
            connection.request("POST", self.target, self.body.encode(), self.headers)
            self.sent.set()
            response = connection.getresponse()
            content = response.read(self.most_bytes + 1)
            if len(content) > self.most_bytes:
                raise OverflowError(f"it answered more than {self.most_bytes} bytes")
            text = content.decode("utf-8", "replace")
            self.reusable = not response.will_close
            self.response = (response.status, text)
        except Exception as error:
            self.error = error
        finally:
            self.sent.set()
            self.finished.set()

    def wait_until_sent(self, check_interrupts: Callable[[], object]) -> None:
        """Let the thread send the request: it only runs while the caller waits here."""
        self.wait(self.sent, check_interrupts)

    def receive(self, check_interrupts: Callable[[], object]) -> tuple[int, str]:
        """Return (status, response text), and keep the connection for the next exchange.

        `check_interrupts` is called every 20 ms; whatever it raises ends the exchange. A kept
        connection that the server has closed meanwhile is replaced once.
        """
        while True:
            if not self.wait(self.finished, check_interrupts):
                self.abandon()
                raise TimeoutError("no answer in time")
            if self.response is not None:
                self.received = True
                if self.reusable and self.base_url not in self.connections:
                    self.connections[self.base_url] = self.connection
                else:
                    close(self.connection)
                return self.response
            close(self.connection)
            by_server = isinstance(self.error, (ConnectionError, http.client.BadStatusLine))
            if self.error is not None and not (self.kept and by_server):
                raise self.error
            self.begin(None)

    def wait(self, event: threading.Event, check_interrupts: Callable[[], object]) -> bool:
        """Wait in steps of 20 ms, so that a cancel is seen soon; False once the time is over."""
        try:
            while not event.wait(0.02):
                check_interrupts()
                if time.monotonic() >= self.deadline:
                    return False
        except BaseException:
            self.abandon()
            raise
        return True

    def abandon(self) -> None:
        """End the exchange without an answer; one that was received stays as it is."""
        if not self.received:
            self.abandoned = True
            close(self.connection)


def open_connection(base_url: str) -> http.client.HTTPConnection:
    """Return an HTTPConnection for the URL; it connects at the first request."""
    parts = urllib.parse.urlsplit(base_url)
    if parts.scheme == "unix" and parts.path:
        return UnixConnection(parts.path)
    if parts.scheme in ("http", "https") and parts.hostname:
        is_safe = parts.scheme == "https"
        connect = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
        return connect(parts.hostname, parts.port)
    raise ValueError(
        f"the gateway's address is {base_url!r}: expected http://host:port or unix:/path"
    )


def start_without_signals(thread: threading.Thread) -> None:
    """Start the thread with all signals blocked: they belong to the thread that waits."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def close(connection: http.client.HTTPConnection) -> None:
    """Shut the socket down first: that wakes the thread up where it still reads."""
    with suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()


def gateway_token(data_directory: str) -> str | None:
    """Return the token, None where the gateway needs none.

    It comes from the server's environment (PGBLEND_GATEWAY_TOKEN) or from the file
    pgblend_gateway_token in the data directory. Nobody but its owner may read it: PermissionError
    otherwise. ValueError where a header cannot carry it; the token itself is never in a message.
    """
    token = os.environ.get("PGBLEND_GATEWAY_TOKEN", "").strip()
    path = os.path.join(data_directory, "pgblend_gateway_token")
    if not token:
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            return None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise PermissionError(f"{path} may be read by others: chmod 600 it")
        with open(path, encoding="utf-8") as file:
            token = file.read().strip()
    if not (token.isascii() and token.isprintable()):
        raise ValueError("the gateway token holds characters that a header cannot carry")
    return token or None


NO_GATEWAY = problem(
    "no model gateway is set",
    "Start one (pgblend gateway) and name it: pgblend config set gateway_url URL",
)
_MORE_PLACES = "Raise the setting model_calls: most, or wait_ms to wait for a place."
_ROOM_FOR_FILES = "Its account needs a folder pgblend_model_calls in the data directory, and room."


class GatewayCall:
    """A call under way, its request sent; `answer` or `abandon` ends it and gives its place back.

    `request` has url, path, body (JSON text), timeout_ms, most_bytes (of the answer),
    data_directory (where the token may be), role (the number of who asks), database (a number) and
    places (the setting model_calls). The session keeps connections and late (see LateGateway).
    """

    def __init__(self, db: Database, request: Mapping[str, Any]) -> None:
        self.db, self.request = db, request
        self.gateway = LateGateway(db.kept("late"), request, time.monotonic)
        self.refusal = self.gateway.rest()
        self.exchange: HttpExchange | None = None
        self.error: Exception | None = None
        self.token: str | None = None
        self.give_back: Callable[[], None] | None = None
        if self.refusal is None:
            self.refusal = self.take_place()
        if self.refusal:
            return
        try:
            self.token = gateway_token(request["data_directory"])
            self.exchange = HttpExchange(request, self.token, db.kept("connections"))
            self.exchange.wait_until_sent(self.check_interrupts)
        except (OSError, ValueError) as error:
            self.error = error
        except BaseException:
            self.abandon()
            raise

    def take_place(self) -> dict[str, str] | None:
        """Take a place; return the problem where there is none."""
        try:
            self.give_back = take_place(self.db.run, self.request)
        except OSError as error:
            told = f"the server cannot count its model calls: {error.strerror}"
            return problem(told, _ROOM_FOR_FILES)
        if self.give_back is None:
            most = int(self.request["places"]["most"])
            told = f"the server has no place left for a model call: {most} run already"
            return problem(told, _MORE_PLACES)
        return None

    def check_interrupts(self) -> None:
        """Run an empty statement: a cancel or a timeout that is pending is raised there."""
        self.db.run("SELECT", [])

    def answer(self) -> dict[str, Any]:
        """Wait for the answer: {"answer"} or {"problem", "hint"}; a cancel passes through."""
        if self.refusal:
            return self.refusal
        try:
            return gateway_answer(
                self.request["url"], self.request["timeout_ms"], self.receive, [self.token]
            )
        finally:
            self.abandon()

    def receive(self) -> tuple[int, str]:
        """Return status and text."""
        if self.exchange is None:
            raise self.error or OSError("nothing was sent")
        try:
            received = self.exchange.receive(self.check_interrupts)
        except TimeoutError:
            self.gateway.learn(is_late=True)
            raise
        self.gateway.learn(is_late=False)
        return received

    def abandon(self) -> None:
        """Leave the answer, where there is none yet, and give the place back."""
        give_back, self.give_back = self.give_back, None
        try:
            if self.exchange is not None:
                self.exchange.abandon()
        finally:
            if give_back is not None:
                give_back()
