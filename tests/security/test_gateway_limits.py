"""What a caller may take of the gateway's connections, over raw sockets against a real process."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from pgblend.cli.models.connection import MAX_BODY_BYTES
from pgblend.cli.models.gateway_options import ConnectionLimits
from support.gateway_process import GatewayProcess

pytestmark = pytest.mark.extended

CONNECTIONS = 6
LIMITS = ("--header-timeout", "0.5", "--body-timeout", "1", "--connections", str(CONNECTIONS))
START = b"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
CHUNK = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"


@pytest.fixture(scope="module")
def limited() -> Iterator[GatewayProcess]:
    with GatewayProcess(*LIMITS) as process:
        yield process


def connect(gateway: GatewayProcess, source: str = "127.0.0.1") -> socket.socket:
    if gateway.url.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(gateway.url.removeprefix("unix:"))
    else:
        port = urlsplit(gateway.url).port
        connection = socket.create_connection(("127.0.0.1", port), source_address=(source, 0))
    connection.settimeout(60)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Read until the gateway closes the connection."""
    data = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            data += part
    return data


def send_until_cut(connection: socket.socket, part: bytes, pause: float = 0) -> int:
    """Send without end; return how many bytes went out before the gateway cut it."""
    sent = 0
    with suppress(ConnectionResetError, BrokenPipeError):
        while True:
            connection.sendall(part)
            sent += len(part)
            time.sleep(pause)
    return sent


def assert_refused(data: bytes, status: int, code: str) -> None:
    head, _, body = data.rpartition(b"\r\n\r\n")
    assert head.rpartition(b"HTTP/1.1 ")[2].startswith(str(status).encode()), data[:500]
    assert json.loads(body)["error"]["code"] == code


def assert_serves(gateway: GatewayProcess) -> None:
    """Another address is served, whatever the first one does."""
    with connect(gateway, "127.0.0.9") as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert b'"status":"ok"' in read_all(connection)


def test_the_limits_as_they_are() -> None:
    limits = ConnectionLimits()
    assert (limits.header_seconds, limits.body_seconds, limits.connections) == (10, 60, 100)
    assert MAX_BODY_BYTES == 32 << 20


@pytest.mark.parametrize(
    ("before", "begun", "drip"),
    [
        (b"", b"", b""),
        (b"", START, b""),
        (b"", START, b"X-More: 1\r\n"),
        (b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", START, b""),
    ],
    ids=["nothing", "half", "dripping", "kept alive"],
)
def test_half_open_connections(
    limited: GatewayProcess, before: bytes, begun: bytes, drip: bytes
) -> None:
    with connect(limited) as connection:
        if before:
            connection.sendall(before)
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        connection.sendall(begun)
        if drip:
            send_until_cut(connection, drip, 0.02)
        assert_refused(read_all(connection), 408, "request_timeout")
    assert_serves(limited)


def test_endless_headers(limited: GatewayProcess) -> None:
    with connect(limited) as connection:
        connection.sendall(START)
        assert send_until_cut(connection, b"X-More: " + b"a" * 4096 + b"\r\n") > 64 << 10
        assert_refused(read_all(connection), 431, "headers_too_large")
    assert_serves(limited)


def test_calls_that_follow_without_a_pause(limited: GatewayProcess) -> None:
    """The half of a third one that came with two has its time when those are answered."""
    call = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connect(limited) as connection:
        connection.sendall(call + call + call[:20])
        time.sleep(0.1)
        connection.sendall(call[20:-2] + b"Connection: close\r\n\r\n")
        answers = read_all(connection)
    assert answers.count(b"HTTP/1.1 200") == answers.count(b'"status":"ok"') == 3


@pytest.mark.parametrize("drip", [b"", b" "], ids=["stopped", "dripping"])
def test_a_body_that_does_not_arrive(limited: GatewayProcess, drip: bytes) -> None:
    with connect(limited) as connection:
        connection.sendall(START + b"Content-Length: 100000\r\n\r\n{")
        if drip:
            send_until_cut(connection, drip, 0.02)
        assert_refused(read_all(connection), 408, "request_timeout")
    assert_serves(limited)


@pytest.mark.slow
@pytest.mark.parametrize(
    "framing",
    [b"Transfer-Encoding: chunked", b"Content-Length: 99999999999"],
    ids=["chunked", "long"],
)
def test_an_endless_body(framing: bytes) -> None:
    """It is answered at the limit and cut soon after, long before its time is over."""
    with GatewayProcess("--body-timeout", "600") as gateway, connect(gateway) as connection:
        connection.sendall(START + framing + b"\r\n\r\n")
        sent = send_until_cut(connection, CHUNK)
        assert MAX_BODY_BYTES < sent < 4 * MAX_BODY_BYTES
        assert_refused(read_all(connection), 413, "body_too_large")
        assert_serves(gateway)


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0, 0.02], ids=["fast", "slow"])
@pytest.mark.parametrize("path", [b"/health", b"/v1/nothing"])
def test_an_endless_body_that_nobody_asked_for(
    limited: GatewayProcess, path: bytes, pause: float
) -> None:
    """Answered at once, it is cut by its size or its time."""
    with connect(limited) as connection:
        line = (
            b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(line)
        assert send_until_cut(connection, CHUNK if not pause else b"1\r\na\r\n", pause)
    assert_serves(limited)


def test_an_endless_body_without_the_token() -> None:
    gateway = GatewayProcess("--body-timeout", "1", token="t0ken")
    with gateway, connect(gateway) as connection:
        connection.sendall(START + b"Transfer-Encoding: chunked\r\n\r\n")
        send_until_cut(connection, b"1\r\na\r\n", 0.02)
        assert_refused(read_all(connection), 401, "invalid_token")


def test_connections_of_one_address() -> None:
    limits = ("--header-timeout", "600", "--connections", str(CONNECTIONS))
    with GatewayProcess(*limits) as gateway, ExitStack() as stack:
        held = [stack.enter_context(connect(gateway)) for _ in range(CONNECTIONS)]
        for _ in range(3):
            with connect(gateway) as refused:
                refused.sendall(START + b"Content-Length: 2\r\n\r\n{}")
                answer = read_all(refused)
            assert_refused(answer, 429, "too_many_connections")
            assert b"retry-after: 1" in answer
        assert_serves(gateway)
        held.pop().close()
        served = httpx.Response(429)
        while served.status_code == 429:  # until the gateway has seen that one is closed
            served = httpx.get(f"{gateway.url}/health")
        assert served.json()["status"] == "ok"


def test_connections_that_wait_for_nothing_make_room(limited: GatewayProcess) -> None:
    """Sessions keep theirs for the next search: those are no reason to refuse another."""
    with ExitStack() as stack:
        for _ in range(4 * CONNECTIONS):
            connection = stack.enter_context(connect(limited))
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_the_limits_hold_on_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "gateway.sock")
    options = ("--socket", path, "--header-timeout", "2", "--connections", "2")
    with GatewayProcess(*options) as gateway, ExitStack() as stack:
        held = [stack.enter_context(connect(gateway)) for _ in range(2)]
        with connect(gateway) as refused:
            assert_refused(read_all(refused), 429, "too_many_connections")
        assert_refused(read_all(held[0]), 408, "request_timeout")


# Opening a pipe that nobody writes to waits within C, and holds the interpreter's lock.
STUCK_LIBRARY = """
import ctypes, os, sys
ctypes.PyDLL(None).open(b"{}", os.O_RDONLY)
sys.path.remove(os.path.dirname(os.path.dirname(__file__)))
del sys.modules[__name__]
import onnxruntime
"""


def test_a_deadline_holds_while_a_local_model_loads(tmp_path: Path) -> None:
    """Whatever the model's library does, as long as it likes: other calls go on, too."""
    library = tmp_path / "library/onnxruntime/__init__.py"
    library.parent.mkdir(parents=True)
    ready = tmp_path / "ready"
    library.write_text(STUCK_LIBRARY.format(ready))
    os.mkfifo(ready)
    modules = os.pathsep.join([str(library.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {"PYTHONPATH": modules}
    call = {"model": "local/all-minilm-l6-v2", "input": "a fox"}
    with (
        GatewayProcess(environment=environment) as gateway,
        httpx.Client(base_url=gateway.url, timeout=60) as client,
    ):
        for _ in range(2):
            late = client.post("/v1/embeddings", json=call | {"timeout_ms": 200})
            assert (late.status_code, late.json()["error"]["code"]) == (504, "provider_timeout")
            assert client.get("/health").json()["models"][call["model"]] == "loading"
        ready.write_text("")
        assert client.post("/v1/embeddings", json=call).status_code == 200
        assert client.get("/health").json()["models"][call["model"]] == "ready"


def client_of(gateway: GatewayProcess, source: str, token: str = "") -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.HTTPTransport(local_address=source)
    return httpx.Client(base_url=gateway.url, transport=transport, headers=headers, timeout=60)


def test_an_address_guesses_tokens_at_a_rate() -> None:
    """Who has the token is served meanwhile, at the same address and at others."""
    with GatewayProcess(token="t" * 32) as gateway:
        paths = {"127.0.0.1": "/health", "127.0.0.2": "/v1/models", "127.0.0.3": "/openapi.json"}
        for address, path in paths.items():
            with client_of(gateway, address, "guess") as stranger:
                answers = [stranger.get(path) for _ in range(150)]
            assert {answer.status_code for answer in answers} == {401, 429}, path
            refused = next(answer for answer in answers if answer.status_code == 429)
            assert refused.json()["error"]["code"] == "rate_limit"
            assert refused.headers["retry-after"]
            with client_of(gateway, address, "t" * 32) as known:
                assert {known.get("/health").status_code for _ in range(150)} == {200}
        with client_of(gateway, "127.0.0.9") as other:
            assert other.get("/health").status_code == 401


def test_an_address_looks_at_a_rate(limited: GatewayProcess) -> None:
    with client_of(limited, "127.0.0.7") as stranger:
        assert {stranger.get("/health").status_code for _ in range(800)} == {200, 429}
    assert_serves(limited)
