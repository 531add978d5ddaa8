"""A proxy that shows a token, for a client that can send none: all else goes through unchanged."""

import threading
from typing import Self

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pgblend.cli.models.served_app import listen_tcp, url_of


class TokenProxy:
    """Answers on a free port of loopback; a context manager."""

    def __init__(self, target: str, token: str) -> None:
        self._listener = listen_tcp("127.0.0.1", 0)
        self._client = httpx.AsyncClient(base_url=target, timeout=60, trust_env=False)
        self._shown = {"Authorization": f"Bearer {token}"}
        self.url = url_of(self._listener)
        route = Route("/{path:path}", self._pass_on, methods=["GET", "POST", "DELETE"])
        config = uvicorn.Config(Starlette(routes=[route]), log_config=None, ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    async def _pass_on(self, request: Request) -> Response:
        answer = await self._client.request(
            request.method,
            request.url.path,
            headers={**request.headers, **self._shown},
            content=await request.body(),
        )
        kept = {k: v for k, v in answer.headers.items() if k not in ("content-length", "date")}
        return Response(answer.content, answer.status_code, kept)
