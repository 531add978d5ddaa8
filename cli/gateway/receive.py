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
    working = asyncio.current_task()
    assert working is not None
    leaving = asyncio.ensure_future(_disconnect(request, working))
    try:
        return await work
    except asyncio.CancelledError:
        if leaving.done() and not leaving.cancelled() and not working.uncancel():
            raise ClientDisconnect from None
        raise
    finally:
        leaving.cancel()


async def _disconnect(request: Request, working: asyncio.Task[Any]) -> None:
    """Cancel who works for a client that has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    working.cancel()
