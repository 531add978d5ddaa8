"""The gateway's HTTP routes."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pgblend.cli.gateway.access import AccessMiddleware
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.measure import MeasureMiddleware
from pgblend.cli.gateway.routes import model_routes
from pgblend.cli.gateway.services import Services


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
    message = "the gateway failed; its log has the details"
    return GatewayError(500, "internal_error", message).response()
