"""The model gateway, asked for many callers at the same time."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx

from pgblend.cli.ask.stream import (
    LONGEST_ANSWER,
    AnswerError,
    UnreachableGatewayError,
    check_is_open,
    event_of,
    piece_of,
    refusal,
)
from pgblend.cli.bounded_answer import AnswerTooLargeError
from pgblend.cli.gateway_http import async_gateway_client, gateway_headers
from pgblend.cli.search_models import NO_GATEWAY, ModelCall
from pgblend.cli.server.gateway_token import token_for
from pgblend.plpy.models.answer import gateway_answer

# A route that a firewall closes without a word is known as closed after this long.
_TIMEOUT = httpx.Timeout(None, connect=1)


class ModelGateway:
    """Clients of the gateways that the databases' settings name, by address.

    UnreachableGatewayError where one cannot be reached from here, or takes no token that is here.
    """

    def __init__(self) -> None:
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()

    async def post(self, call: ModelCall) -> dict[str, Any]:
        """Return {"answer"} or {"problem"}."""
        if call.url is None:
            return dict(NO_GATEWAY)
        token = token_for(call.url)
        outcome: tuple[int, str] | Exception
        try:
            async with asyncio.timeout(call.timeout_ms / 1000):
                response = await self._client(call.url).post(
                    call.path, json=call.body, headers=gateway_headers(token), timeout=_TIMEOUT
                )
            check_is_open(response)
            outcome = response.status_code, response.text
        except TimeoutError:
            outcome = TimeoutError()
        except AnswerTooLargeError as error:
            outcome = OverflowError(str(error))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnreachableGatewayError(str(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            outcome = OSError(str(error))

        def exchange() -> tuple[int, str]:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return gateway_answer(call.url, int(call.timeout_ms), exchange, [token])

    async def stream(self, call: ModelCall) -> AsyncIterator[tuple[str, str | None]]:
        """Yield the pieces of a chat model's answer, each with why it ends where it does."""
        if call.url is None:
            raise AnswerError(NO_GATEWAY["problem"])
        seconds = call.timeout_ms / 1000
        try:
            async with (
                asyncio.timeout(seconds),
                self._client(call.url).stream(
                    "POST",
                    call.path,
                    json=call.body | {"stream": True},
                    headers=gateway_headers(token_for(call.url)),
                    timeout=_TIMEOUT,
                ) as response,
            ):
                if response.status_code != httpx.codes.OK:
                    await response.aread()
                    check_is_open(response)
                    raise AnswerError(refusal(response))
                async for piece in _pieces(response):
                    yield piece
        except TimeoutError:
            raise AnswerError(f"the answer was not complete within {seconds:g} seconds") from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnreachableGatewayError(str(error)) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise AnswerError(f"the gateway's answer broke off ({error})") from None

    def _client(self, url: str) -> httpx.AsyncClient:
        if url not in self._clients:
            self._clients[url] = async_gateway_client(url)
        return self._clients[url]


async def _pieces(response: httpx.Response) -> AsyncIterator[tuple[str, str | None]]:
    """Yield text and reason of each event that has one."""
    length, has_ended = 0, False
    async for line in response.aiter_lines():
        event = event_of(line)
        if event is None:
            break
        text, reason = piece_of(event) if event else ("", None)
        length += len(text)
        has_ended = has_ended or reason is not None
        if length > LONGEST_ANSWER:
            raise AnswerError("the model does not stop")
        if text or reason:
            yield text, reason
    if not has_ended:
        raise AnswerError("the gateway's answer broke off")
