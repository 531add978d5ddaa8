"""What stands around a request: its body, whether its sender listens, counts and times."""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgblend.cli.models.openai_errors import GatewayError

# Counts and times of requests, by known path and status.

GATEWAY_PATHS = {
    "/health",
    "/metrics",
    "/v1/chat/completions",
    "/v1/embeddings",
    "/v1/expand",
    "/v1/hyde",
    "/v1/models",
    "/v1/rerank",
}


class MeasureMiddleware:
    """Has each request of these paths counted, a streamed one when it has ended."""

    def __init__(
        self,
        app: ASGIApp,
        count: Callable[[str, int, float], None],
        paths: Collection[str] = GATEWAY_PATHS,
    ) -> None:
        self._app = app
        self._count = count
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and measure it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._count(path, status, time.perf_counter() - start)


_Result = TypeVar("_Result")
_UNWATCHED_SECONDS = 0.05


async def read_body(request: Request, most_bytes: int) -> bytes:
    """Return the body; a GatewayError with status 413 where it has more bytes."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most_bytes:
            message = f"the body has more than {most_bytes} bytes: send it in several calls"
            raise GatewayError(413, "body_too_large", message)
    return bytes(body)


async def while_connected(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return the work's result; when the client leaves, cancel it and the provider's call in it."""
    working = asyncio.current_task()
    assert working is not None
    watch = _Watch(request, working)
    try:
        return await work
    except asyncio.CancelledError:
        if watch.has_left and not working.uncancel():
            raise ClientDisconnect from None
        raise
    finally:
        watch.end()


class _Watch:
    """Cancels who works for a client that leaves; what ends soon needs no task beside it."""

    def __init__(self, request: Request, working: asyncio.Task[Any]) -> None:
        self._request = request
        self._working = working
        self._task: asyncio.Task[None] | None = None
        self._start = asyncio.get_running_loop().call_later(_UNWATCHED_SECONDS, self._begin)
        self.has_left = False

    def end(self) -> None:
        self._start.cancel()
        if self._task:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.ensure_future(self._disconnect())

    async def _disconnect(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self.has_left = True
        self._working.cancel()
