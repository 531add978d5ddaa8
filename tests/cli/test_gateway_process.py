"""`pgblend gateway` as a process: where it listens, who may call, how it starts and ends."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from pgblend.cli.models.served_app import listen_tcp
from support.model_provider import Behaviour, GatewayProcess, ModelProvider

TOKEN = "0123456789abcdef"


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider() as provider:
        yield provider


def run(*options: str) -> subprocess.CompletedProcess[str]:
    """A gateway that is expected to refuse to start."""
    command = [sys.executable, "-m", "pgblend.cli.main", "gateway", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def refused(*options: str) -> str:
    result = run(*options)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    first, _, rest = result.stderr.partition("\n")
    assert first.startswith("pgblend: error: ")
    assert rest == "" or rest.startswith("hint: ")
    return result.stderr


def private(path: Path, content: str) -> Path:
    path.touch(0o600)
    path.write_text(content)
    return path


def test_ready_file_and_the_one_line_on_stderr() -> None:
    with GatewayProcess() as gateway:
        ready = json.loads(gateway.ready_file.read_text())
        assert set(ready) == {"url", "pid", "version"}
        assert ready["pid"] == gateway.process.pid
        assert httpx.get(f"{ready['url']}/health").json()["version"] == ready["version"]
        assert gateway.stderr == f"pgblend gateway listening on {ready['url']}\n"
        assert "psycopg" not in Path(f"/proc/{gateway.pid}/maps").read_text()  # it has no database


@pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(stop_signal: signal.Signals) -> None:
    with GatewayProcess() as gateway:
        os.kill(gateway.pid, stop_signal)
        exit_code = gateway.process.wait(10)
        assert exit_code == (0 if stop_signal == signal.SIGTERM else 130)
        assert not gateway.ready_file.exists()
        assert "Traceback" not in gateway.stderr


@pytest.mark.slow
def test_a_running_call_is_answered_before_the_end(provider: ModelProvider) -> None:
    with GatewayProcess(provider=provider) as gateway:
        body = {"model": provider.model, "input": "warm-up"}
        httpx.post(f"{gateway.url}/v1/embeddings", json=body, timeout=30)
        provider.behaviour = Behaviour(delay_seconds=1)
        with socket.create_connection(("127.0.0.1", int(gateway.url.rpartition(":")[2]))) as raw:
            content = json.dumps({"model": provider.model, "input": "last"}).encode()
            raw.sendall(
                b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(content)
            )
            raw.sendall(content)
            while provider.requests < 2:
                time.sleep(0.01)
            os.kill(gateway.pid, signal.SIGTERM)
            raw.settimeout(10)
            assert raw.recv(15) == b"HTTP/1.1 200 OK"
        assert gateway.process.wait(10) == 0


@pytest.mark.slow
def test_a_hanging_call_does_not_hold_up_the_end(provider: ModelProvider) -> None:
    provider.behaviour = Behaviour(hang=True)
    with GatewayProcess(provider=provider) as gateway:
        url = f"{gateway.url}/v1/embeddings"
        body = {"model": provider.model, "input": "hangs"}
        with ThreadPoolExecutor(1) as threads:
            hanging = threads.submit(httpx.post, url, json=body, timeout=30)
            while provider.requests == 0:
                time.sleep(0.01)
            assert gateway.stop() == 0
            assert hanging.exception() or hanging.result().is_error


def test_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "gateway.sock"
    with GatewayProcess("--socket", str(path)) as gateway:
        assert gateway.url == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            assert client.get("http://gateway/health").json()["pid"] == gateway.pid
        assert "another process listens" in refused("--socket", str(path))
        gateway.stop()
        assert not path.exists()


@pytest.mark.extended
def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "gateway.sock"
    with GatewayProcess("--socket", str(path)) as gateway:
        gateway.process.kill()
        gateway.process.wait()
    assert path.exists()
    with GatewayProcess("--socket", str(path)) as gateway:
        assert gateway.url == f"unix:{path}"


def test_a_file_in_place_of_the_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    assert "is not a socket" in refused("--socket", str(path))
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--socket", f"/tmp/{'a' * 200}.sock"), "cannot listen on"),
        (("--socket", "/no/such/folder/gateway.sock"), "No such file or directory"),
        (("--host", "no.such.host.invalid"), "no address of this machine"),
        (("--host", "192.0.2.1", "--port", "0"), "cannot listen on 192.0.2.1"),
        (("--port", "0", "--token-file", "/no/such/token"), "cannot read /no/such/token"),
        (("--port", "0", "--env-file", "/no/such/env"), "cannot read /no/such/env"),
        (("--port", "0", "--ready-file", "/no/such/folder/r.json"), "cannot write --ready-file"),
    ],
)
def test_what_keeps_it_from_starting(options: tuple[str, ...], part: str) -> None:
    assert part in refused(*options)


def test_who_is_refused_waits_for_no_imports_of_searches() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "pgblend.cli.main", "gateway"]
    refusal = subprocess.run(
        [*command, "--token-file", "/no/such/token"], capture_output=True, text=True, check=False
    )
    assert "cannot read /no/such/token" in refusal.stderr
    imported = {line.rpartition("|")[2].strip() for line in refusal.stderr.splitlines()}
    assert "starlette" in imported
    assert not {"psycopg", "numpy", "httpx"} & imported


def test_answers_do_not_wait_for_an_acknowledgement() -> None:
    with listen_tcp("127.0.0.1", 0) as listener:
        # What asyncio looks at before it sets TCP_NODELAY on a connection.
        assert listener.proto == socket.IPPROTO_TCP


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "Address already in use" in refused("--port", port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_another_address_needs_a_token(host: str) -> None:
    assert "--token-file" in refused("--host", host, "--port", "0")


def test_another_address_with_a_token() -> None:
    with GatewayProcess("--host", "0.0.0.0", "--port", "0", token=TOKEN) as gateway:
        url = gateway.url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/health").status_code == 401
        assert httpx.get(f"{url}/health", headers=gateway.headers).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--token-file", "--env-file"])
@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_secret_that_others_can_read(tmp_path: Path, option: str, mode: int) -> None:
    path = private(tmp_path / "secret", "NAME=hunter2")
    path.chmod(mode)
    message = refused("--port", "0", option, str(path))
    assert f"chmod 600 {path}" in message
    assert "hunter2" not in message


@pytest.mark.parametrize("content", ["", "\n", "two words"])
def test_a_token_file_without_a_token(tmp_path: Path, content: str) -> None:
    path = private(tmp_path / "token", content)
    assert "holds no token" in refused("--port", "0", "--token-file", str(path))


def test_an_env_file_that_is_none(tmp_path: Path) -> None:
    path = private(tmp_path / "env", "GOOD=1\nhunter2\n")
    message = refused("--port", "0", "--env-file", str(path))
    assert "is not KEY=VALUE" in message
    assert "hunter2" not in message


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[GatewayProcess, ModelProvider]]:
    """A gateway with a token, keys from a file and no cache."""
    with ModelProvider() as provider:
        lines = [f'export {name}="{value}"' for name, value in provider.environment.items()]
        env_file = private(
            tmp_path_factory.mktemp("env") / "env", "\n".join(["# keys", "", *lines])
        )
        options = ("--env-file", str(env_file), "--cache-size", "0")
        with GatewayProcess(*options, token=f"{TOKEN}\n") as gateway:
            yield gateway, provider


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer wrong", TOKEN, f"Bearer {TOKEN}x", f"Basic {TOKEN}"]
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/embeddings"), ("GET", "/v1/models"), ("GET", "/health")]
)
def test_a_wrong_token(
    guarded: tuple[GatewayProcess, ModelProvider], method: str, path: str, header: str
) -> None:
    gateway, provider = guarded
    before = provider.requests
    body = {"model": provider.model, "input": "a text"} if method == "POST" else None
    headers = {"Authorization": header}
    response = httpx.request(method, f"{gateway.url}{path}", json=body, headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "invalid_token"
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert provider.requests == before
    assert TOKEN not in gateway.stderr


@pytest.mark.slow
def test_the_right_token_keys_from_a_file_and_no_cache(
    guarded: tuple[GatewayProcess, ModelProvider],
) -> None:
    gateway, provider = guarded
    headers = {"Authorization": f"Bearer {TOKEN}"}
    before = provider.requests
    for _ in range(2):
        body = {"model": provider.model, "input": ["a text", "another", "a text"]}
        url = f"{gateway.url}/v1/embeddings"
        response = httpx.post(url, json=body, headers=headers, timeout=30)
        assert len(response.json()["data"]) == 3
    assert provider.requests == before + 2
    key = provider.environment["OPENAI_API_KEY"]
    assert provider.headers[-1]["authorization"] == f"Bearer {key}"
    health = httpx.get(f"{gateway.url}/health", headers=headers).json()
    assert health["cache"]["entries"] == 0
