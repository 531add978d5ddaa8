"""The paths that ask models: read the call, ask within its deadline, answer in JSON."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pgblend.cli.gateway.chat_request import parse_chat_request
from pgblend.cli.gateway.connection import MAX_BODY_BYTES
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.expansion_request import parse_expansion_request
from pgblend.cli.gateway.prompts import Task
from pgblend.cli.gateway.request import parse_embeddings_request
from pgblend.cli.gateway.rerank_request import parse_rerank_request
from pgblend.cli.gateway.services import Services

_Result = TypeVar("_Result")


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
    call = parse_embeddings_request(await _body(request))
    answer, cached = await _while_connected(
        request, services.embedder.answer(call, _deadline(services, call.timeout_ms))
    )
    return _json(answer, cached)


async def _chat(request: Request) -> Response:
    services = _services(request)
    call = parse_chat_request(await _body(request))
    deadline = _deadline(services, call.timeout_ms)
    if not call.stream:
        return _json(await _while_connected(request, services.chat.answer(call, deadline)))
    # Its caller's leaving ends a streamed answer by itself, once it has begun.
    events = await _while_connected(request, services.chat.stream(call, deadline))
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _rerank(request: Request) -> Response:
    services = _services(request)
    call = parse_rerank_request(await _body(request))
    answer, cached = await _while_connected(
        request, services.reranker.answer(call, _deadline(services, call.timeout_ms))
    )
    return _json(answer, cached)


async def _expand(request: Request) -> Response:
    return await _expanded("expansion", request)


async def _hyde(request: Request) -> Response:
    return await _expanded("hyde", request)


async def _expanded(task: Task, request: Request) -> Response:
    services = _services(request)
    call = parse_expansion_request(await _body(request))
    answer = await _while_connected(
        request, services.expander.answer(task, call, _deadline(services, call.timeout_ms))
    )
    return _json(answer, answer["cached"])


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def _deadline(services: Services, timeout_ms: int | None) -> Deadline:
    return Deadline.of(timeout_ms, services.policy.timeout_seconds)


def _json(answer: dict[str, Any], cached: bool = False) -> Response:
    return JSONResponse(answer, headers={"x-pgblend-cached": "1"} if cached else None)


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            message = f"the body has more than {MAX_BODY_BYTES} bytes; send it in several calls"
            raise GatewayError(413, "body_too_large", message)
    return bytes(body)


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
