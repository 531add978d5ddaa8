"""`/mcp`: the server over streamable HTTP, each call with the rights of its token.

Nothing is kept between two calls, so that any process answers any of them: no sessions, no streams
of the server's own, and every answer is plain JSON.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from pgblend.cli.serve.door import Door
from pgblend.cli.serve.gate import Admitted
from pgblend.cli.serve.mcp.server import Context, Rights, create_server

_RIGHTS = "pgblend.rights"


class McpOverHttp:
    """Answers one POST at a time."""

    def __init__(self, door: Door, body_bytes: int) -> None:
        self._manager = StreamableHTTPSessionManager(
            create_server(door, _rights),
            json_response=True,
            stateless=True,
            max_request_body_size=body_bytes,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be ready to answer; once."""
        async with self._manager.run():
            yield

    async def answer(self, request: Request, caller: Admitted, body: bytes) -> Response:
        """Return the answer to a message of somebody who was let in."""
        scope = {**request.scope, _RIGHTS: Rights(caller.token, frozenset(caller.scopes))}
        exchange = _Exchange(body)
        await self._manager.handle_request(scope, exchange.receive, exchange.send)
        return exchange.response


class _Exchange:
    """A request whose body is there, and the whole answer to it."""

    def __init__(self, body: bytes) -> None:
        self._requested: list[Message] = [
            {"type": "http.request", "body": body, "more_body": False}
        ]
        self.response = Response()
        self._body = bytearray()

    async def receive(self) -> Message:
        """Give the body; after it nothing comes."""
        if self._requested:
            return self._requested.pop()
        await asyncio.Event().wait()  # that nobody sets: who waits here is cancelled
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a part of the answer."""
        if message["type"] == "http.response.start":
            self.response = Response(status_code=message["status"])
            self.response.raw_headers = list(message.get("headers", ()))
            return
        self._body += message.get("body", b"")
        if not message.get("more_body"):
            self.response.body = bytes(self._body)


def _rights(ctx: Context) -> Rights:
    assert ctx.request is not None
    rights: Rights = ctx.request.scope[_RIGHTS]
    return rights
