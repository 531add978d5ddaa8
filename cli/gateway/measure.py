"""Counts and times of requests, by known path and status."""

import time
from collections.abc import Callable, Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
