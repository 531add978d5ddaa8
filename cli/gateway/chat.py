"""Chat completions through litellm, whole or streamed, in OpenAI's shape."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from pgblend.cli.gateway.chat_request import ChatRequest
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError, bad_answer
from pgblend.cli.gateway.providers import Providers


class Chat:
    """The chat models behind one gateway."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers

    async def answer(self, request: ChatRequest, deadline: Deadline) -> dict[str, Any]:
        """Return the body of the answer to a call."""
        answer = await self._call(request, deadline)
        text, reason = _said(answer, request.model)
        message = {"role": "assistant", "content": text}
        return {
            **_frame("chat.completion", request.model),
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": _usage(answer),
        }

    async def stream(self, request: ChatRequest, deadline: Deadline) -> AsyncIterator[bytes]:
        """Return server-sent events; whatever fails before the first of them raises."""
        pieces = aiter(await self._call(request, deadline))
        first = await self._next(pieces, request, deadline)
        return self._events(first, pieces, request, deadline)

    async def _call(self, request: ChatRequest, deadline: Deadline) -> Any:
        if request.model.startswith("local/"):
            message = f"{request.model!r} is no chat model; name a hosted one as provider/model"
            raise GatewayError(404, "model_not_found", message, param="model")
        options = dict(request.options)
        if request.stream:
            options["stream_options"] = {"include_usage": True}
        return await self._providers.call(
            "chat",
            request.model,
            deadline,
            messages=request.messages,
            stream=request.stream,
            **options,
        )

    async def _events(
        self,
        first: Any,
        pieces: AsyncIterator[Any],
        request: ChatRequest,
        deadline: Deadline,
    ) -> AsyncIterator[bytes]:
        frame = _frame("chat.completion.chunk", request.model)
        piece = first
        try:
            while piece is not None:
                yield _event({**frame, **_delta(piece)})
                piece = await self._next(pieces, request, deadline)
            yield b"data: [DONE]\n\n"
        except GatewayError as error:  # the status is sent already: the error is the last event
            yield _event(error.body())

    async def _next(
        self, pieces: AsyncIterator[Any], request: ChatRequest, deadline: Deadline
    ) -> Any:
        """Return the next piece of the answer, None after the last."""
        try:
            async with asyncio.timeout(deadline.remaining):
                return await anext(pieces, None)
        except Exception as error:
            provider = await self._providers.provider_of(request.model)
            raise self._providers.to_gateway_error(
                error, request.model, provider, "chat"
            ) from error


def _said(answer: Any, model: str) -> tuple[str, str]:
    try:
        choice = answer.choices[0]
        text, reason = choice.message.content, choice.finish_reason
    except (AttributeError, IndexError, KeyError, TypeError):
        raise bad_answer(f"{model} gave an answer without a message") from None
    if not isinstance(text, str):
        raise bad_answer(f"{model} gave an answer without a text ({str(reason)[:40]})")
    return text, str(reason or "stop")


def _delta(piece: Any) -> dict[str, Any]:
    usage = _usage(piece)
    if usage["total_tokens"]:  # the last piece: what it all cost, and no text
        return {"choices": [], "usage": usage}
    return {
        "choices": [
            {
                "index": 0,
                "delta": {"content": choice.delta.content} if choice.delta.content else {},
                "finish_reason": choice.finish_reason,
            }
            for choice in piece.choices[:1]
        ]
    }


def _usage(answer: Any) -> dict[str, int]:
    usage = getattr(answer, "usage", None)
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {name: int(getattr(usage, name, 0) or 0) for name in names}


def _frame(kind: str, model: str) -> dict[str, Any]:
    name = f"chatcmpl-{uuid.uuid4().hex}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(content, ensure_ascii=False).encode() + b"\n\n"
