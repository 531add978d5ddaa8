"""The door's HTTP routes."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import how_to_install, missing, require
from pgblend.cli.doors import answers, schemas
from pgblend.cli.doors.door import Caller, Door
from pgblend.cli.doors.gate import GateMiddleware, TokenGate
from pgblend.cli.doors.openapi import openapi
from pgblend.cli.doors.operations import ENDPOINTS, Endpoint, document, written_answer
from pgblend.cli.doors.page import endpoints as page
from pgblend.cli.doors.problems import Problem, any_problem
from pgblend.cli.doors.schemas import Read, reader
from pgblend.cli.models.access import Limiter
from pgblend.cli.models.gateway_options import CallLimits
from pgblend.cli.models.middleware import MeasureMiddleware, read_body, while_connected
from pgblend.cli.models.openai_errors import GatewayError
from pgblend.cli.search.asked_models import RowsAsked

if TYPE_CHECKING:
    from pgblend.cli.doors.mcp.server import McpOverHttp


# Counts and times for Prometheus.

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class DoorMetrics:
    """What /metrics shows of one door: numbers and paths."""

    def __init__(self, pool_statistics: Callable[[], dict[str, int]]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "pgblend_serve_requests",
            "Requests by path and status",
            ["path", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "pgblend_serve_request_seconds",
            "Time of requests",
            ["path"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._kinds: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self.registry.register(_PoolCollector(pool_statistics))
        ProcessCollector("pgblend_serve", registry=self.registry)  # memory, processor time, files

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request of a known path."""
        kind = path, status
        if kind not in self._kinds:  # to find them by their labels takes longer than to count
            self._kinds[kind] = self._requests.labels(path, status), self._seconds.labels(path)
        requests, durations = self._kinds[kind]
        requests.inc()
        durations.observe(seconds)

    def text(self) -> bytes:
        """Return all in Prometheus's text format."""
        return generate_latest(self.registry)


class _PoolCollector(Collector):
    """Reads the pool's own counts when somebody asks."""

    def __init__(self, statistics: Callable[[], dict[str, int]]) -> None:
        self._statistics = statistics

    def collect(self) -> Iterator[Metric]:
        """Yield the pool's metrics."""
        for name, value in sorted(self._statistics().items()):
            yield GaugeMetricFamily(f"pgblend_serve_{name}", "psycopg_pool's count", value)


Handler = Callable[[Request], Awaitable[Response]]

_OTHER_PATHS = (
    *("/health", "/mcp", "/metrics", "/openapi.json"),
    *("/v1/chat/completions", "/v1/models", "/page/answer"),
)
_NOTHING = RowsAsked("SELECT 1 AS one", {})


def create_app(door: Door, hosts: frozenset[str], limits: CallLimits) -> Starlette:
    """Return the application that lets callers in."""
    agents = _mcp_over_http(door, limits)
    routes = _Routes(door, limits, agents)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await door.open()
        async with agents.running() if agents else nullcontext():
            yield
        await door.close()

    endpoints = (*ENDPOINTS, *page.page_endpoints())
    handlers = {endpoint.path: routes.endpoint(endpoint) for endpoint in endpoints}
    paths = {*_OTHER_PATHS, *(endpoint.path for endpoint in endpoints)}
    return Starlette(
        routes=[
            *(Route(path, handler, methods=["POST"]) for path, handler in handlers.items()),
            *page.page_routes(door, routes.gate),
            Route("/v1/documents/{document_id}", routes.document),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/models", routes.models),
            Route("/v1/models/{name:path}", routes.model),
            Route("/page/answer", routes.page_answer, methods=["POST"]),
            Route("/mcp", routes.mcp, methods=["POST"]),
            Route("/health", routes.health),
            Route("/metrics", routes.show_metrics),
            Route("/openapi.json", routes.openapi),
        ],
        middleware=[
            Middleware(MeasureMiddleware, count=routes.metrics.count_request, paths=paths),
            Middleware(GateMiddleware, hosts=hosts),
        ],
        exception_handlers={**_REFUSALS, Exception: _answer_problem},
        lifespan=lifespan,
    )


def _mcp_over_http(door: Door, limits: CallLimits) -> "McpOverHttp | None":
    """Return what answers at /mcp; None where its extra is not installed."""
    if missing("mcp"):
        return None
    require("mcp")
    from pgblend.cli.doors.mcp.server import McpOverHttp

    return McpOverHttp(door, limits.body_bytes)


@dataclass
class _Routes:
    """What each path answers."""

    door: Door
    limits: CallLimits
    agents: "McpOverHttp | None"
    limiter: Limiter = field(init=False)
    gate: TokenGate = field(init=False)
    metrics: DoorMetrics = field(init=False)

    def __post_init__(self) -> None:
        self.limiter = Limiter(self.limits)
        self.gate = TokenGate(self.door.pool, self.limits)
        self.metrics = DoorMetrics(self.door.pool.statistics)

    def endpoint(self, endpoint: Endpoint) -> Handler:
        """Return what answers at an endpoint."""
        read = reader(endpoint.request)

        async def answer(request: Request) -> Response:
            caller = await self._caller(request, endpoint.scope)
            with self.limiter.call(caller.token):
                given = await self._body(request, read)
                work = endpoint.operation(self.door, caller, given)
                return _json(await while_connected(request, work), caller)

        return answer

    async def document(self, request: Request) -> Response:
        """Show a document, whole or the lines that are asked for."""
        caller = await self._caller(request, "search")
        if unknown := sorted(request.query_params.keys() - {"lines"}):
            detail = f"{unknown[0][:40]!r} is no parameter of a document: expected lines"
            raise Problem(400, "invalid-request", detail)
        with self.limiter.call(caller.token):
            number, lines = request.path_params["document_id"], request.query_params.get("lines")
            return _json(await document(self.door, caller, number, lines), caller)

    async def models(self, request: Request) -> Response:
        """List collections as OpenAI lists models."""
        caller = await self._caller(request, "ask")
        with self.limiter.call(caller.token):
            return _json(await answers.models(self.door, caller))

    async def model(self, request: Request) -> Response:
        """Show one of them."""
        caller = await self._caller(request, "ask")
        with self.limiter.call(caller.token):
            return _json(await answers.model(self.door, caller, request.path_params["name"]))

    async def chat(self, request: Request) -> Response:
        """Answer a chat, whole or streamed."""
        caller = await self._caller(request, "ask")
        base = str(request.base_url)
        with ExitStack() as stack:
            stack.enter_context(self.limiter.call(caller.token))
            given = await self._body(request, self._read_chat)
            if not given.get("stream"):
                work = answers.complete(self.door, caller, given, base)
                return _json(await while_connected(request, work))
            events = answers.stream(self.door, caller, given, base)
            return await _streamed(request, events, stack, answers.error_event)

    async def page_answer(self, request: Request) -> Response:
        """Answer the page, sentence by sentence."""
        caller = await self._caller(request, "ask")
        with ExitStack() as stack:
            stack.enter_context(self.limiter.call(caller.token))
            given = await self._body(request, self._read_ask)
            events = page.stream(self.door, caller, given)
            return await _streamed(request, events, stack, page.error_event)

    async def mcp(self, request: Request) -> Response:
        """Answer a message of the Model Context Protocol."""
        if self.agents is None:
            detail = "this server speaks no MCP: its extra is not installed"
            raise Problem(501, "mcp-not-installed", detail, hint=how_to_install("mcp"))
        caller = await self.gate.admit(request)
        with self.limiter.call(caller.token):
            body = await read_body(request, self.limits.body_bytes)
            return await while_connected(request, self.agents.answer(request, caller, body))

    async def health(self, request: Request) -> Response:
        """Say whether the database answers."""
        with self.gate.guest(request):
            await self.door.pool.check()
            about = {"status": "ok", "version": version("pgblend"), "pid": os.getpid()}
            return _json({**about, "degraded": []})

    async def show_metrics(self, request: Request) -> Response:
        """Show the counts."""
        caller = await self._caller(request, "metrics")
        with self.limiter.call(caller.token):
            await self.door.run(caller, _NOTHING)
        return Response(self.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def openapi(self, request: Request) -> Response:
        """Show what can be called, and how."""
        with self.gate.guest(request):
            return _json(self._openapi)

    @cached_property
    def _openapi(self) -> dict[str, Any]:
        return openapi()

    @cached_property
    def _read_chat(self) -> Read:
        return reader(schemas.CHAT)

    @cached_property
    def _read_ask(self) -> Read:
        return reader(schemas.ASK)

    async def _caller(self, request: Request, scope: str) -> Caller:
        """Return who calls, before anything of the call is read."""
        admitted = await self.gate.admit(request, scope)
        return Caller(admitted.token, scope, [])

    async def _body(self, request: Request, read: Read) -> dict[str, Any]:
        return read(await read_body(request, self.limits.body_bytes))


async def _streamed(
    request: Request,
    events: AsyncGenerator[bytes, None],
    held: ExitStack,
    error_event: Callable[[Problem], bytes],
) -> Response:
    """Answer with events; what fails before the first of them raises. `held` is until the last."""
    first = await while_connected(request, events.asend(None))
    rest = _rest(first, events, held.pop_all(), error_event)
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(rest, media_type="text/event-stream", headers=headers)


async def _rest(
    first: bytes,
    events: AsyncIterator[bytes],
    held: ExitStack,
    error_event: Callable[[Problem], bytes],
) -> AsyncIterator[bytes]:
    """Yield all events; what fails after the first is one of them."""
    with held:
        yield first
        try:
            async for event in events:
                yield event
        except Exception as error:
            yield error_event(any_problem(error))


def _json(answer: dict[str, Any], caller: Caller | None = None) -> Response:
    """Return the answer with the warnings of the server."""
    content = answer | {"warnings": caller.warnings} if caller else answer
    return Response(written_answer(content), media_type="application/json")


async def _answer_problem(request: Request, error: Exception) -> Response:
    path = request.url.path
    if isinstance(error, HTTPException):
        return _http_problem(request, error).response(path)
    return any_problem(error).response(path)


def _http_problem(request: Request, error: HTTPException) -> Problem:
    if error.status_code == 404:
        return Problem(404, "unknown-path", f"no such path: {request.url.path}")
    if error.status_code == 405:
        detail = f"{request.url.path} does not take {request.method}"
        return Problem(405, "method-not-allowed", detail, headers=error.headers)
    return Problem(error.status_code, "http-error", error.detail)


async def _client_left(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


_REFUSALS = {
    Problem: _answer_problem,
    GatewayError: _answer_problem,
    HTTPException: _answer_problem,
    ClientDisconnect: _client_left,
    UserError: _answer_problem,
    UnicodeEncodeError: _answer_problem,  # of a lone surrogate, on its way to the database
}
