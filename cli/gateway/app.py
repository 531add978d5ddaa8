"""The gateway's HTTP routes."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pgblend.cli.gateway.access import AccessMiddleware
from pgblend.cli.gateway.embeddings import Embedder
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.request import parse_embeddings_request

MAX_BODY_BYTES = 32 * 1024 * 1024
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


def create_app(
    embedder: Embedder, *, token: str | None = None, loopback: bool = True, preload: bool = False
) -> Starlette:
    """Return the application that serves an embedder's models."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if preload:
            embedder.preload()
        yield
        embedder.close()

    app = Starlette(
        routes=[
            Route("/health", _health),
            Route("/v1/models", _models),
            Route("/v1/embeddings", _embeddings, methods=["POST"]),
        ],
        middleware=[Middleware(AccessMiddleware, token=token, loopback=loopback)],
        exception_handlers={
            GatewayError: _gateway_error,
            HTTPException: _http_error,
            ClientDisconnect: _client_left,
            Exception: _unexpected_error,
        },
        lifespan=lifespan,
    )
    app.state.embedder = embedder
    return app


async def _health(request: Request) -> Response:
    embedder: Embedder = request.app.state.embedder
    return JSONResponse(
        {
            "status": "ok",
            "version": version("pgblend"),
            "pid": os.getpid(),
            "models": {name: model.state for name, model in embedder.local_models.items()},
            "providers": embedder.providers.state,
            "cache": embedder.cache.statistics(),
        }
    )


async def _models(request: Request) -> Response:
    embedder: Embedder = request.app.state.embedder
    models = [
        {"id": name, "object": "model", "created": 0, "owned_by": "pgblend"}
        for name, model in embedder.local_models.items()
        if model.installed
    ]
    return JSONResponse({"object": "list", "data": models})


async def _embeddings(request: Request) -> Response:
    embedder: Embedder = request.app.state.embedder
    call = parse_embeddings_request(await _body(request))
    return JSONResponse(await _while_connected(request, embedder.answer(call)))


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    # Read to the end even when it is too much: a client that still sends would miss the answer.
    async for part in request.stream():
        size += len(part)
        if size <= MAX_BODY_BYTES:
            parts.append(part)
    if size > MAX_BODY_BYTES:
        message = f"the body has {size} bytes; send at most {MAX_BODY_BYTES}, in several calls"
        raise GatewayError(413, "body_too_large", message)
    return b"".join(parts)


async def _while_connected(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the work's result; when the client leaves, cancel it and the provider's call in it."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
    message = "the gateway failed; its log has the details"
    return GatewayError(500, "internal_error", message).response()
