"""The paths that ask models: read the call, ask within its deadline, answer in JSON."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from pgblend.cli.gateway.chat_request import parse_chat_request
from pgblend.cli.gateway.connection import MAX_BODY_BYTES
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.expansion_request import parse_expansion_request
from pgblend.cli.gateway.prompts import Task
from pgblend.cli.gateway.receive import read_body, while_connected
from pgblend.cli.gateway.request import parse_embeddings_request
from pgblend.cli.gateway.rerank_request import parse_rerank_request
from pgblend.cli.gateway.services import Services


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


def _deadline(services: Services, timeout_ms: int | None) -> Deadline:
    return Deadline.of(timeout_ms, services.policy.timeout_seconds)


def _json(answer: dict[str, Any], cached: bool = False) -> Response:
    return JSONResponse(answer, headers={"x-pgblend-cached": "1"} if cached else None)
