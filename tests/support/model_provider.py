"""A model provider for tests: a real HTTP server that answers in OpenAI's embeddings shape.

    from support.model_provider import Behaviour, GatewayProcess, ModelProvider

    with ModelProvider() as provider, GatewayProcess(provider=provider) as gateway:
        httpx.post(f"{gateway.url}/v1/embeddings", json={"model": provider.model, "input": "…"})
        provider.behaviour = Behaviour(status=429, retry_after=7)

The same text always gets the same vector, and texts that share words get close ones.
"""

import base64
import hashlib
import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

DEFAULT_DIMENSIONS = 384
DEFAULT_TOKEN = "test-provider-key"


@dataclass(frozen=True)
class Behaviour:
    """What the provider does with its next calls; the default is to answer at once."""

    delay_seconds: float = 0.0
    hang: bool = False  # never answers; ends when the caller leaves or the provider stops
    drop: bool = False  # closes the connection without an answer
    status: int = 200  # anything else: an error answer with this status
    retry_after: float | None = None  # sent with an error answer
    error_message: str = "told to fail"
    garbage: bool = False  # status 200 with a body that is not JSON
    dimensions: int | None = None  # ignores what was asked for
    missing_vectors: int = 0  # leaves out this many at the end
    not_a_number: bool = False  # the first component of each vector is NaN


@lru_cache(maxsize=50_000)
def _word_vector(word: str, dimensions: int) -> NDArray[np.float64]:
    digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(dimensions)
    return np.frombuffer(digest, np.uint8) - 127.5


def embed(text: str, dimensions: int = DEFAULT_DIMENSIONS) -> list[float]:
    """Return the provider's vector of a text: the normalised sum of its words' hashes."""
    words = re.findall(r"\w+", text.lower()) or [text]
    total = np.sum([_word_vector(word, dimensions) for word in words], axis=0)
    unit: list[float] = (total / np.linalg.norm(total)).astype(np.float32).tolist()
    return unit


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    provider: "ModelProvider"

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # callers may leave when they like
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(200, {"status": "ok", "pid": os.getpid()})
        else:
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})

    def do_POST(self) -> None:
        provider = self.server.provider
        behaviour = provider.behaviour
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        provider.record(self.path, dict(self.headers), body)
        if behaviour.delay_seconds:
            provider.stopping.wait(behaviour.delay_seconds)
        if behaviour.hang:
            self._hang(provider)
        if behaviour.hang or behaviour.drop:
            self.close_connection = True
            return
        if not self.path.endswith("/embeddings"):
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})
        elif behaviour.status != 200:
            self._send_error_answer(behaviour)
        elif behaviour.garbage:
            self._send_bytes(200, b"<html>502 from some proxy</html>", "text/html")
        else:
            self._send(200, _answer(body, behaviour))

    def _hang(self, provider: "ModelProvider") -> None:
        while not provider.stopping.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.01)
            if readable:
                try:
                    left = self.connection.recv(1, socket.MSG_PEEK) == b""
                except ConnectionError:
                    left = True
                if left:
                    provider.record_abandoned()
                    return

    def _send_error_answer(self, behaviour: Behaviour) -> None:
        headers = {}
        if behaviour.retry_after is not None:
            headers["Retry-After"] = f"{behaviour.retry_after:g}"
        error = {"message": behaviour.error_message, "type": "test_error", "code": None}
        self._send(behaviour.status, {"error": error}, headers)

    def _send(self, status: int, answer: object, headers: Mapping[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(answer).encode(), "application/json", headers)

    def _send_bytes(
        self,
        status: int,
        content: bytes,
        content_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _answer(body: dict[str, Any], behaviour: Behaviour) -> dict[str, Any]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    dimensions = behaviour.dimensions or body.get("dimensions") or DEFAULT_DIMENSIONS
    vectors: list[Any] = [embed(text, dimensions) for text in texts]
    vectors = vectors[: len(vectors) - behaviour.missing_vectors]
    if behaviour.not_a_number:
        vectors = [[float("nan"), *vector[1:]] for vector in vectors]
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(np.array(v, "<f4").tobytes()).decode() for v in vectors]
    tokens = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "model": body["model"],
        "data": [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


class ModelProvider:
    """The server as a context manager; change `behaviour` at any time, read `requests` after."""

    model = "openai/test-embedding"  # what a caller of the gateway names

    def __init__(self) -> None:
        self.behaviour = Behaviour()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []  # names in lower case; the path as `:path`
        self.abandoned = 0  # calls that hung until their caller left
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True, name="model-provider"
        )

    @property
    def url(self) -> str:
        """The address without a path: usable as the database's gateway_url too."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> int:
        """How many POST calls arrived since the last reset."""
        return len(self.bodies)

    @property
    def environment(self) -> dict[str, str]:
        """What a gateway's environment needs to reach this provider through litellm."""
        return {"OPENAI_API_BASE": f"{self.url}/v1", "OPENAI_API_KEY": DEFAULT_TOKEN}

    def reset(self) -> None:
        """Answer normally again and forget what was seen."""
        with self._lock:
            self.behaviour = Behaviour()
            self.bodies.clear()
            self.headers.clear()
            self.abandoned = 0

    def record(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        with self._lock:
            self.bodies.append(body)
            lowered = {name.lower(): value for name, value in headers.items()}
            self.headers.append({":path": path, **lowered})

    def record_abandoned(self) -> None:
        with self._lock:
            self.abandoned += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class GatewayProcess:
    """`pgblend gateway` as a real process on a free port; a context manager.

    It sees none of this process's keys: only PATH and HOME, what `provider` needs and what
    `environment` adds.
    """

    def __init__(
        self,
        *options: str,
        provider: ModelProvider | None = None,
        environment: Mapping[str, str] | None = None,
        token: str | None = None,
    ) -> None:
        self.options = options
        self.token = token
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name in ("PATH", "HOME") or name.startswith("COVERAGE")
        }
        self.environment |= provider.environment if provider else {}
        self.environment |= environment or {}
        self.url = ""
        self.pid = 0

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="pgblend-gateway-")
        folder = Path(self._folder.name)
        self.ready_file = folder / "ready.json"
        self._log = folder / "stderr.txt"
        options = [*self.options, "--ready-file", str(self.ready_file)]
        if "--socket" not in options and "--port" not in options:
            options += ["--port", "0"]
        if self.token is not None:
            token_file = folder / "token"
            token_file.touch(0o600)
            token_file.write_text(self.token)
            options += ["--token-file", str(token_file)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pgblend.cli.main", "gateway", *options],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            ready = self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        self.url = ready["url"]
        self.pid = ready["pid"]
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    @property
    def headers(self) -> dict[str, str]:
        """What a caller sends: the token, where there is one."""
        return {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}

    @property
    def stderr(self) -> str:
        """All that the process has printed so far."""
        return self._log.read_text()

    def stop(self) -> int:
        """End the process with SIGTERM, or SIGKILL after twenty seconds; return its exit code."""
        self.process.terminate()  # does nothing when it has ended
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _wait_until_ready(self, seconds: float = 30.0) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.ready_file.exists():
                ready: dict[str, Any] = json.loads(self.ready_file.read_text())
                return ready
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError(f"the gateway did not start: {self.stderr}")
