"""Providers' answers, whose clients are litellm's: bounded as all others are."""

from typing import Any

import httpx

from pgblend.cli.bounded_answer import ask_unpacked, bounded


def bound_providers() -> None:
    """Let every HTTP client of litellm stop reading at the limit, and follow nothing.

    litellm makes clients in many places, has no setting for this, and takes httpx's own transport
    where a proxy is set: they share these classes.
    """
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    for transport in (LiteLLMAiohttpTransport, httpx.AsyncHTTPTransport):
        _bound_async(transport)
    send = httpx.HTTPTransport.handle_request

    def handle_bounded(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        ask_unpacked(request)
        return bounded(send(self, request))

    httpx.HTTPTransport.handle_request = handle_bounded  # type: ignore[method-assign]


def _bound_async(transport: Any) -> None:
    send = transport.handle_async_request

    async def handle_bounded(self: Any, request: httpx.Request) -> httpx.Response:
        ask_unpacked(request)
        return bounded(await send(self, request))

    transport.handle_async_request = handle_bounded
