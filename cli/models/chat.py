"""Chat completions through litellm, whole or streamed, in OpenAI's shape."""

import asyncio
import codecs
import json
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pgblend.cli.models import fields
from pgblend.cli.models.metrics import CallRecord
from pgblend.cli.models.openai_errors import GatewayError, bad_answer
from pgblend.cli.models.providers import Providers
from pgblend.cli.models.retry import CallDeadline, Observer, first_answer
from pgblend.plpy.models.outcome import mask_secrets, whole_letters

# What a caller may send to /v1/chat/completions: OpenAI's fields for texts and pictures.

MAX_MESSAGES = 200
MAX_TOKENS = 1_000_000
_TASKS = {"answer", "entity", "summary", "vision"}
_OPTIONS: dict[str, fields.Schema] = {
    "frequency_penalty": fields.number(-2, 2),
    "max_completion_tokens": fields.whole_number(1, MAX_TOKENS),
    "max_tokens": fields.whole_number(1, MAX_TOKENS),
    "presence_penalty": fields.number(-2, 2),
    "response_format": {
        "type": ["object", "null"],
        "required": ["type"],
        "properties": {"type": {"type": "string"}},
        "description": "an object with a type",
    },
    "seed": {},
    "stop": {},
    "temperature": fields.number(0, 2),
    "top_p": fields.number(0, 1),
}
# A picture is sent along: an address would let a document choose what is fetched.
_PART: fields.Schema = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"enum": ["text", "image_url"]}},
    "if": {"properties": {"type": {"const": "text"}}},
    "then": {"required": ["text"], "properties": {"text": fields.TEXT}},
    "else": {
        "required": ["image_url"],
        "properties": {
            "image_url": {
                "type": "object",
                "required": ["url"],
                "properties": {"url": {"type": "string", "pattern": "^data:image/"}},
            }
        },
    },
    "description": "a text, or an image_url with a data:image/…;base64 URL",
    "codes": {"": "invalid_messages"},
}
_MESSAGE: fields.Schema = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {
        "role": {"enum": ["assistant", "developer", "system", "user"]},
        "content": {
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "items": _PART,
            "codes": {"": "invalid_input", "minLength": "empty_input"},
        },
    },
    "codes": {"": "invalid_messages"},
}
_read = fields.reader(
    ["model", "messages"],
    {
        "messages": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_MESSAGES,
            "items": _MESSAGE,
            "codes": {"": "invalid_messages", "maxItems": "too_many_messages"},
        },
        "model": fields.MODEL,
        "stream": {"type": ["boolean", "null"]},
        "stream_options": {},
        "timeout_ms": fields.TIMEOUT,
        "user": {},
    }
    | _OPTIONS,
)


@dataclass(frozen=True)
class ChatRequest:
    """A checked call: which model, what was said, and how to answer."""

    model: str
    messages: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)  # as OpenAI names them
    stream: bool = False
    task: str = "chat"  # for the ledger
    timeout_ms: int | None = None


def parse_chat_request(body: bytes) -> ChatRequest:
    """Return the checked call, or raise a GatewayError that names the offending field."""
    given = _read(body)
    return ChatRequest(
        given["model"],
        [_message(said) for said in given["messages"]],
        {name: given[name] for name in _OPTIONS if name in given},
        given.get("stream", False),
        _task(given.get("user")),
        given.get("timeout_ms"),
    )


def _task(user: object) -> str:
    """Return the task that OpenAI's field for the end user names: pgblend:answer and so on."""
    prefix, _, task = user.partition(":") if isinstance(user, str) else ("", "", "")
    return task if prefix == "pgblend" and task in _TASKS else "chat"


def _message(said: dict[str, Any]) -> dict[str, Any]:
    """Return a message with what is known of it, and nothing else that a caller sent."""
    content = said["content"]
    if isinstance(content, list):
        content = [{name: part[name] for name in ("type", part["type"])} for part in content]
    return {"role": said["role"], "content": content}


_MOST_REFUSAL = 200  # characters

Answer = dict[str, Any]


class Chat:
    """The chat models behind one gateway."""

    def __init__(self, providers: Providers, observer: Observer) -> None:
        self._providers = providers
        self._observer = observer

    async def answer(self, request: ChatRequest, deadline: CallDeadline) -> Answer:
        """Return the body of the answer to a call, of the first model that gives one."""
        return await first_answer(self._models(request), deadline, partial(self.answer_of, request))

    async def answer_of(self, request: ChatRequest, model: str, deadline: CallDeadline) -> Answer:
        """Return the body of one model's answer to a call."""
        _check_hosted(model)
        return await self._providers.call(
            "chat",
            model,
            deadline,
            partial(_answer, model),
            task=request.task,
            messages=request.messages,
            **request.options,
        )

    async def stream(self, request: ChatRequest, deadline: CallDeadline) -> AsyncIterator[bytes]:
        """Return server-sent events; whatever fails before the first of them raises."""
        return await first_answer(
            self._models(request), deadline, partial(self._stream_of, request)
        )

    def _models(self, request: ChatRequest) -> list[str]:
        return [request.model, *self._providers.policy.fallbacks.get(request.task, ())]

    async def _stream_of(
        self, request: ChatRequest, model: str, deadline: CallDeadline
    ) -> AsyncIterator[bytes]:
        _check_hosted(model)
        events = self._events(request, CallRecord(request.task, model), deadline)
        first = await anext(events)
        return _chain(first, events)

    async def _events(
        self, request: ChatRequest, record: CallRecord, deadline: CallDeadline
    ) -> AsyncIterator[bytes]:
        """Yield the events; an error raises before the first of them, and is one of them after."""
        frame = _frame("chat.completion.chunk", record.model)
        letters = codecs.getincrementaldecoder("utf-16-le")("replace")
        begun = False
        try:
            with self._observer.observe(record):
                _, pieces = await self._providers.start(
                    "chat",
                    record,
                    deadline,
                    aiter,
                    messages=request.messages,
                    stream=True,
                    stream_options={"include_usage": True},
                    **request.options,
                )
                while (piece := await self._next(pieces, record, deadline)) is not None:
                    record.count(piece)
                    if begun or _has_text(piece):
                        yield _event({**frame, **_delta(piece, letters)})
                        begun = True
                if not begun:
                    raise bad_answer(f"{record.model} gave an answer without a text")
                yield b"data: [DONE]\n\n"
        except GatewayError as error:
            if not begun:
                raise
            yield _event(error.body())

    async def _next(
        self, pieces: AsyncIterator[Any], record: CallRecord, deadline: CallDeadline
    ) -> Any:
        """Return the next piece of the answer, None after the last."""
        try:
            async with asyncio.timeout(deadline.remaining):
                return await anext(pieces, None)
        except Exception as error:
            raise self._providers.to_gateway_error(error, record, "chat") from error


async def _chain(first: bytes, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for event in events:
        yield event


def _check_hosted(model: str) -> None:
    if model.startswith("local/"):
        message = f"{model!r} is no chat model: name a hosted one as provider/model"
        raise GatewayError(404, "model_not_found", message, param="model")


def _answer(model: str, answer: Any) -> Answer:
    try:
        choice = answer.choices[0]
        text, reason = choice.message.content, choice.finish_reason
    except (AttributeError, IndexError, KeyError, TypeError):
        raise bad_answer(f"{model} gave an answer without a message") from None
    if not isinstance(text, str):
        refusal = getattr(choice.message, "refusal", None)
        if refusal or reason == "content_filter":
            said = " ".join(mask_secrets(whole_letters(str(refusal or ""))).split())
            why = said[:_MOST_REFUSAL] or "its provider's content filter stopped it"
            raise bad_answer(f"{model} refused to answer: {why}")
        raise bad_answer(f"{model} gave an answer without a text ({str(reason)[:40]})")
    message = {"role": "assistant", "content": whole_letters(text)}
    return {
        **_frame("chat.completion", model),
        "choices": [{"index": 0, "message": message, "finish_reason": str(reason or "stop")}],
        "usage": _usage(answer),
    }


def _has_text(piece: Any) -> bool:
    return any(choice.delta.content for choice in piece.choices)


def _delta(piece: Any, letters: codecs.IncrementalDecoder) -> Answer:
    """Return what a piece adds; half a letter at its end waits in `letters` for the next one."""
    usage = _usage(piece)
    if usage["total_tokens"]:  # the last piece: what it all cost, and no text
        return {"choices": [], "usage": usage}
    choices = []
    for choice in piece.choices[:1]:
        halves = (choice.delta.content or "").encode("utf-16-le", "surrogatepass")
        text = letters.decode(halves, final=choice.finish_reason is not None)
        delta = {"content": text} if text else {}
        choices.append({"index": 0, "delta": delta, "finish_reason": choice.finish_reason})
    return {"choices": choices}


def _usage(answer: Any) -> dict[str, int]:
    usage = getattr(answer, "usage", None)
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {name: int(getattr(usage, name, 0) or 0) for name in names}


def _frame(kind: str, model: str) -> Answer:
    name = f"chatcmpl-{uuid.uuid4().hex}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": model}


def _event(content: Answer) -> bytes:
    return b"data: " + json.dumps(content, ensure_ascii=False).encode() + b"\n\n"
