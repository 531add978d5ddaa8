"""The gateway: what it is made of, and its HTTP routes."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pgblend.cli.base.extras import DEFAULT_MODEL
from pgblend.cli.models.access import AccessMiddleware
from pgblend.cli.models.cache import AnswerCache, EmbeddingCache, MemoryCache
from pgblend.cli.models.chat import Chat, parse_chat_request
from pgblend.cli.models.connection import MAX_BODY_BYTES
from pgblend.cli.models.cross_encoders import CrossEncoders
from pgblend.cli.models.embedding_models import EmbeddingModels
from pgblend.cli.models.embeddings import Embedder, parse_embeddings_request
from pgblend.cli.models.expansion_calls import Expander, parse_expansion_request
from pgblend.cli.models.gateway_options import Policy
from pgblend.cli.models.metrics import Metrics
from pgblend.cli.models.middleware import MeasureMiddleware, read_body, while_connected
from pgblend.cli.models.openai_errors import GatewayError
from pgblend.cli.models.prompts import Task
from pgblend.cli.models.providers import Providers
from pgblend.cli.models.rerank_scores import ChatReranker, Reranker, parse_rerank_request
from pgblend.cli.models.retry import CallDeadline, Observer
from pgblend.cli.models.search_log import SearchLog

if TYPE_CHECKING:
    from pgblend.cli.models.database_writer import DatabaseWriter


_MEBIBYTE = 1024 * 1024
_OTHER_CACHES_SHARE = 4  # expansions and scores are small: a quarter of the embeddings' room each

_LAST_DATAGRAMS_SECONDS = 0.05  # until what the socket still holds is read


class Services:
    """The models behind one gateway, by what they are asked for."""

    def __init__(
        self,
        policy: Policy,
        *,
        cache_mebibytes: int = 64,
        models_folder: Path = Path("models"),
        database_url: str | None = None,
        keep_days: int = 90,
    ) -> None:
        cache_bytes = cache_mebibytes * _MEBIBYTE
        small_bytes = cache_bytes // _OTHER_CACHES_SHARE
        self.policy = policy
        self.metrics = Metrics()
        self.database: DatabaseWriter | None = None
        if database_url:  # else psycopg is not loaded
            from pgblend.cli.models import database_writer

            self.database = database_writer.DatabaseWriter(database_url, keep_days, self.metrics)
        observer = Observer(self.metrics, self.database.add_call if self.database else None)
        self.providers = Providers(policy, observer)
        self.embedder = Embedder(
            EmbeddingCache(cache_bytes), self.providers, EmbeddingModels(models_folder)
        )
        self.chat = Chat(self.providers, observer)
        self.expander = Expander(self.providers, self.chat, AnswerCache(small_bytes, self.database))
        self.reranker = Reranker(
            self.providers,
            CrossEncoders(models_folder),
            ChatReranker(self.providers, self.chat),
            MemoryCache(small_bytes),
        )
        self.caches = {
            "embeddings": self.embedder.cache,
            "expansions": self.expander.cache.memory,
            "scores": self.reranker.cache,
        }
        for name, cache in self.caches.items():
            self.metrics.watch_cache(name, cache)
        self._preloading: asyncio.Task[Any] | None = None

    @asynccontextmanager
    async def running(
        self, log_socket: socket.socket | None = None, token: str | None = None
    ) -> AsyncIterator[None]:
        """Do what goes on in the background; at the end write what is still to be written."""
        receiving = None
        if self.database:
            self.database.start()
            if log_socket:
                receiving = await SearchLog.listen(
                    log_socket, self.database.add_search, self.metrics, token
                )
        try:
            yield
        finally:
            if receiving:
                await asyncio.sleep(_LAST_DATAGRAMS_SECONDS)
                receiving.close()
            if self.database:
                await self.database.close()
            self.close()

    def preload(self) -> None:
        """Start loading what will be needed, in the background: of local models the default one."""
        loads: list[Coroutine[Any, Any, Any]] = [
            model.load() for model in self.embedder.local.installed if model.name == DEFAULT_MODEL
        ]
        if any(name.endswith("_API_KEY") for name in os.environ):
            loads.append(self.providers.load())
        # A failure shows in /health and in the first call.
        self._preloading = asyncio.ensure_future(asyncio.gather(*loads, return_exceptions=True))

    def health(self) -> dict[str, Any]:
        """Return what /health shows of models, providers and caches."""
        breakers = {
            name: breaker.state
            for name, breaker in self.providers.breakers.items()
            if breaker.state != "closed"
        }
        return {
            "models": {**self.embedder.local.states(), **self.reranker.local.states()},
            "providers": self.providers.state,
            "failing": breakers,
            "database": self.database.state if self.database else "none",
            "cache": self.embedder.cache.statistics(),
            "caches": {name: cache.statistics() for name, cache in self.caches.items()},
        }

    def close(self) -> None:
        """Stop what runs in the background."""
        if self._preloading:
            self._preloading.cancel()
        self.embedder.local.close()
        self.reranker.local.close()


# The paths that ask models: read the call, ask within its deadline, answer in JSON.


def model_routes() -> list[Route]:
    """Return the routes under /v1 that reach a model."""
    return [
        Route("/v1/embeddings", _embeddings, methods=["POST"]),
        Route("/v1/chat/completions", _chat, methods=["POST"]),
        Route("/v1/rerank", _rerank, methods=["POST"]),
        Route("/v1/expand", _expand, methods=["POST"]),
        Route("/v1/hyde", _hyde, methods=["POST"]),
    ]


async def _embeddings(request: Request) -> Response:
    services = _services(request)
    call = parse_embeddings_request(await read_body(request, MAX_BODY_BYTES))
    answer, cached = await while_connected(
        request, services.embedder.answer(call, _deadline(services, call.timeout_ms))
    )
    return _json(answer, cached)


async def _chat(request: Request) -> Response:
    services = _services(request)
    call = parse_chat_request(await read_body(request, MAX_BODY_BYTES))
    deadline = _deadline(services, call.timeout_ms)
    if not call.stream:
        return _json(await while_connected(request, services.chat.answer(call, deadline)))
    # Its caller's leaving ends a streamed answer by itself, once it has begun.
    events = await while_connected(request, services.chat.stream(call, deadline))
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _rerank(request: Request) -> Response:
    services = _services(request)
    call = parse_rerank_request(await read_body(request, MAX_BODY_BYTES))
    answer, cached = await while_connected(
        request, services.reranker.answer(call, _deadline(services, call.timeout_ms))
    )
    return _json(answer, cached)


async def _expand(request: Request) -> Response:
    return await _expanded("expansion", request)


async def _hyde(request: Request) -> Response:
    return await _expanded("hyde", request)


async def _expanded(task: Task, request: Request) -> Response:
    services = _services(request)
    call = parse_expansion_request(await read_body(request, MAX_BODY_BYTES))
    answer = await while_connected(
        request, services.expander.answer(task, call, _deadline(services, call.timeout_ms))
    )
    return _json(answer, answer["cached"])


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def _deadline(services: Services, timeout_ms: int | None) -> CallDeadline:
    return CallDeadline.of(timeout_ms, services.policy.timeout_seconds)


def _json(answer: dict[str, Any], cached: bool = False) -> Response:
    return JSONResponse(answer, headers={"x-pgblend-cached": "1"} if cached else None)


def create_app(
    services: Services,
    *,
    token: str | None = None,
    loopback: bool = True,
    preload: bool = False,
    log_socket: socket.socket | None = None,
) -> Starlette:
    """Return the application that serves a gateway's models."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if preload:
            services.preload()
        async with services.running(log_socket, token):
            yield

    app = Starlette(
        routes=[
            Route("/health", _health),
            Route("/metrics", _metrics),
            Route("/v1/models", _models),
            Route("/v1/models/{name:path}", _model),
            *model_routes(),
        ],
        middleware=[
            Middleware(MeasureMiddleware, count=services.metrics.count_request),
            Middleware(AccessMiddleware, token=token, loopback=loopback),
        ],
        exception_handlers={
            GatewayError: _gateway_error,
            HTTPException: _http_error,
            ClientDisconnect: _client_left,
            Exception: _unexpected_error,
        },
        lifespan=lifespan,
    )
    app.state.services = services
    return app


async def _health(request: Request) -> Response:
    services: Services = request.app.state.services
    about = {"status": "ok", "version": version("pgblend"), "pid": os.getpid()}
    return JSONResponse({**about, **services.health()})


async def _metrics(request: Request) -> Response:
    services: Services = request.app.state.services
    return Response(services.metrics.text(), media_type=CONTENT_TYPE_LATEST)


async def _models(request: Request) -> Response:
    return JSONResponse({"object": "list", "data": _installed(request)})


async def _model(request: Request) -> Response:
    name = request.path_params["name"]
    for model in _installed(request):
        if model["id"] == name:
            return JSONResponse(model)
    message = f"there is no model {name[:80]!r}: GET /v1/models lists those installed here"
    raise GatewayError(404, "model_not_found", message)


def _installed(request: Request) -> list[dict[str, Any]]:
    services: Services = request.app.state.services
    return [
        {"id": model.name, "object": "model", "created": 0, "owned_by": "pgblend"}
        for model in services.embedder.local.installed
    ]


async def _gateway_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayError)
    return error.response()


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        message = f"no such path: {request.url.path}"
        return GatewayError(404, "unknown_path", message).response()
    if error.status_code == 405:
        message = f"{request.url.path} does not take {request.method}"
        return GatewayError(405, "method_not_allowed", message).response()
    return GatewayError(error.status_code, "http_error", error.detail).response()


async def _client_left(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


async def _unexpected_error(request: Request, error: Exception) -> Response:
    message = "the gateway failed: its log has the details"
    return GatewayError(500, "internal_error", message).response()
