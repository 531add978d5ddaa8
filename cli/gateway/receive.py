"""A request's body, and work for as long as its sender listens."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from pgblend.cli.gateway.errors import GatewayError

_Result = TypeVar("_Result")


async def read_body(request: Request, most_bytes: int) -> bytes:
    """Return the body; a GatewayError with status 413 where it has more bytes."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most_bytes:
            message = f"the body has more than {most_bytes} bytes; send it in several calls"
            raise GatewayError(413, "body_too_large", message)
    return bytes(body)


async def while_connected(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
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
