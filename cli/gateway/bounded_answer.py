"""A limit on the size of providers' answers: what comes from outside may not fill the memory."""

from collections.abc import AsyncIterator
from typing import Any

import httpx

MAX_ANSWER_BYTES = 64 * 1024 * 1024  # 2,048 vectors of 3,072 numbers, in base64, are 33


class AnswerTooLargeError(httpx.DecodingError):
    """A provider sent more than the gateway takes."""


class _BoundedStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise AnswerTooLargeError(f"more than {MAX_ANSWER_BYTES} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def bound_answers() -> None:
    """Let every HTTP client of litellm stop reading at the limit.

    litellm makes clients in many places and has no setting for this; they all share a transport.
    """
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    transport: Any = LiteLLMAiohttpTransport
    handle = transport.handle_async_request

    async def handle_bounded(self: Any, request: httpx.Request) -> httpx.Response:
        response: httpx.Response = await handle(self, request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _BoundedStream(response.stream)
        return response

    transport.handle_async_request = handle_bounded
