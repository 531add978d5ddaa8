"""A model provider for tests: a real HTTP server in the shapes of OpenAI and Cohere.

    from support.model_provider import Behaviour, GatewayProcess, ModelProvider

    with ModelProvider() as provider, GatewayProcess(provider=provider) as gateway:
        httpx.post(f"{gateway.url}/v1/embeddings", json={"model": provider.model, "input": "…"})
        provider.behaviour = Behaviour(status=429, retry_after=7)  # of every path
        provider.behaviours["chat"] = Behaviour(hang=True)  # of one: embed, chat or rerank
        provider.reply = lambda body: "what the chat model says"

The same request always gets the same answer. Texts that share words get close vectors; a rerank
score is the share of the query's words that a document has; a chat model answers with JSON where
a schema asks for it.
"""

import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from support.gateway_process import GatewayProcess
from support.model_answers import (
    DEFAULT_DIMENSIONS,
    chat_answer,
    chat_events,
    chat_reply,
    embed,
    embeddings_answer,
    rerank_answer,
)

__all__ = ["DEFAULT_DIMENSIONS", "Behaviour", "GatewayProcess", "ModelProvider", "embed"]

DEFAULT_TOKEN = "test-provider-key"
_TASKS = {"/embeddings": "embed", "/chat/completions": "chat", "/rerank": "rerank"}


@dataclass(frozen=True)
class Behaviour:
    """What the provider does with its next calls; the default is to answer at once."""

    delay_seconds: float = 0.0
    together: int = 0  # answers none before so many calls are there; a call that waits 30 s drops
    hang: bool = False  # never answers; ends when the caller leaves or the provider stops
    drop: bool = False  # closes the connection without an answer
    drop_halfway: bool = False  # closes it in the middle of a streamed answer
    status: int = 200  # anything else: an error answer with this status
    retry_after: float | None = None  # sent with an error answer
    error_message: str = "told to fail"
    failures: int | None = None  # this many calls fail so, the ones after it get an answer
    garbage: bool = False  # status 200 with a body that is not JSON
    wrong_schema: bool = False  # JSON of another shape than the path's
    invalid_utf8: bool = False  # JSON in a text with bytes that are not UTF-8
    huge_bytes: int = 0  # an endless text in the answer's first field: this many bytes
    dimensions: int | None = None  # ignores what was asked for
    missing_vectors: int = 0  # leaves out this many at the end
    without_index: bool = False  # its vectors stand in the order of the texts, unnumbered
    not_a_number: bool = False  # the first component of each vector is NaN
    directionless: str = ""  # texts with this word get the zero vector
    finish_reason: str = "stop"  # of a chat answer: length where it was cut
    refusal: str = ""  # what a chat model says in place of an answer
    poison: str = ""  # a call whose input has this word is refused with status 400


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

    def setup(self) -> None:
        super().setup()
        self.server.provider.record_connection()

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(200, {"status": "ok", "pid": os.getpid()})
        else:
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})

    def do_POST(self) -> None:
        provider = self.server.provider
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        provider.record(self.path, dict(self.headers), body)
        task = next((t for end, t in _TASKS.items() if self.path.endswith(end)), None)
        behaviour = provider.next_behaviour(task)
        if behaviour.delay_seconds:
            provider.stopping.wait(behaviour.delay_seconds)
        if behaviour.hang:
            self._hang(provider)
        if behaviour.hang or behaviour.drop or not provider.has_together(behaviour.together):
            self.close_connection = True
        elif task is None:
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})
        elif behaviour.poison and behaviour.poison in str(body.get("input")):
            self._send_error_answer(replace(behaviour, status=400))
        elif behaviour.status != 200:
            self._send_error_answer(behaviour)
        elif not self._send_nonsense(behaviour):
            self._send_answer(task, body, behaviour)

    def _send_answer(self, task: str, body: dict[str, Any], behaviour: Behaviour) -> None:
        if task == "rerank":
            self._send(200, rerank_answer(body))
        elif task == "embed":
            answer = embeddings_answer(
                body,
                behaviour.dimensions,
                behaviour.missing_vectors,
                behaviour.without_index,
                behaviour.not_a_number,
                behaviour.directionless,
            )
            self._send(200, answer)
        else:
            reply = (self.server.provider.reply or chat_reply)(body)
            if body.get("stream"):
                events = chat_events(body, reply, self.server.provider.pieces)
                self._send_events(events, behaviour.drop_halfway)
            else:
                ending = behaviour.finish_reason, behaviour.refusal
                self._send(200, chat_answer(body, reply, *ending))

    def _send_nonsense(self, behaviour: Behaviour) -> bool:
        if behaviour.garbage:
            self._send_bytes(200, b"<html>502 from some proxy</html>", "text/html")
        elif behaviour.wrong_schema:
            self._send(200, {"data": 5, "choices": {"a": 1}, "results": "none"})
        elif behaviour.invalid_utf8:
            self._send_bytes(200, b'{"id": "\xff\xfe\xc3"}', "application/json")
        elif behaviour.huge_bytes:
            self._send_huge(behaviour.huge_bytes)
        else:
            return False
        return True

    def _send_huge(self, size: int) -> None:
        self._start(200, "application/json", {"Content-Length": str(size + 10)})
        self.wfile.write(b'{"id": "')
        for start in range(0, size, 65536):
            self.wfile.write(b"x" * min(65536, size - start))
        self.wfile.write(b'"}')

    def _send_events(self, events: Iterable[bytes], drop_halfway: bool) -> None:
        self._start(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for number, event in enumerate(events):
            if drop_halfway and number == 3:
                self.close_connection = True
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

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
        self._start(status, content_type, {"Content-Length": str(len(content)), **(headers or {})})
        self.wfile.write(content)

    def _start(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


class ModelProvider:
    """The server as a context manager; change `behaviour` at any time, read `requests` after."""

    # What a caller of the gateway names.
    model = "openai/test-embedding"
    chat_model = "openai/gpt-4o-mini"  # litellm knows that it takes a JSON Schema
    plain_chat_model = "openai/test-chat"  # and nothing of this one
    rerank_model = "cohere/rerank-v3.5"

    def __init__(self) -> None:
        self.behaviour = Behaviour()
        self.behaviours: dict[str, Behaviour] = {}  # by task: embed, chat, rerank
        self.reply: Callable[[dict[str, Any]], str] | None = None  # a chat model's, by the request
        self.pieces: Iterable[str] | None = None  # of a streamed answer, in place of `reply`
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []  # names in lower case; the path as `:path`
        self.connections = 0
        self.abandoned = 0  # calls that hung until their caller left
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._failed = 0
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
        return {
            "OPENAI_API_BASE": f"{self.url}/v1",
            "OPENAI_API_KEY": DEFAULT_TOKEN,
            "COHERE_API_BASE": self.url,
            "COHERE_API_KEY": DEFAULT_TOKEN,
        }

    def reset(self) -> None:
        """Answer normally again and forget what was seen."""
        with self._lock:
            self.behaviour = Behaviour()
            self.behaviours.clear()
            self.reply = self.pieces = None
            self.bodies.clear()
            self.headers.clear()
            self.connections = 0
            self.abandoned = 0
            self._failed = 0

    def next_behaviour(self, task: str | None) -> Behaviour:
        """Return what to do with a call that has just come."""
        with self._lock:
            behaviour = self.behaviours.get(task or "", self.behaviour)
            if behaviour.failures is None:
                return behaviour
            self._failed += 1
            return behaviour if self._failed <= behaviour.failures else Behaviour()

    def has_together(self, count: int) -> bool:
        """Wait until so many calls are there; tell whether they came."""
        end = time.monotonic() + 30
        while self.requests < count and time.monotonic() < end:
            time.sleep(0.01)
        return self.requests >= count

    def record(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        with self._lock:
            self.bodies.append(body)
            lowered = {name.lower(): value for name, value in headers.items()}
            self.headers.append({":path": path, **lowered})

    def record_connection(self) -> None:
        with self._lock:
            self.connections += 1

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
