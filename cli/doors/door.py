"""What every endpoint works with: the database as a caller's role, and models asked outside it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from pgblend.cli.answers.ask import (
    LONGEST_ANSWER,
    AnswerError,
    UnreachableGatewayError,
    check_is_open,
    event_of,
    piece_of,
    refusal,
)
from pgblend.cli.base.http_client import AnswerTooLargeError, async_gateway_client, gateway_headers
from pgblend.cli.base.revision import HOW_TO_MATCH, OTHER_PROGRAM, SERVES_OUTSIDE
from pgblend.cli.doors.connection_pool import ConnectionPool, OtherProgramError
from pgblend.cli.doors.outside_program import OutsideProgram, answers
from pgblend.cli.operate.account import token_for
from pgblend.cli.search.asked_models import (
    NO_GATEWAY,
    PLAN,
    ModelCall,
    ModelsAsked,
    RowsAsked,
    Step,
    model_steps,
)
from pgblend.cli.search.statements import IS_REPLAYED, SearchRequest, changes_come
from pgblend.plpy.models.outcome import gateway_answer

# The model gateway, asked for many callers at the same time.

# A route that a firewall closes without a word is known as closed after this long.
_log = logging.getLogger(__name__)
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


# So much later a changed setting tells whether models are asked and where the program runs. All
# else it tells at once.
_PLAN_SECONDS = 1.0
_MOST_PLANS = 1000
Rows = list[dict[str, Any]]


@dataclass
class Caller:
    """Who calls, what for, and what the server warned of meanwhile."""

    token: str
    scope: str
    warnings: list[str]
    asks_database: bool = False  # for models: the gateway is closed to this process


class Door:
    """The database's pool and the model gateway, shared by all callers.

    `program` runs searches in this process, where the setting serve_program says so.
    """

    def __init__(self, pool: ConnectionPool, program: OutsideProgram) -> None:
        self.pool, self.program = pool, program
        self.gateway = ModelGateway()
        self._plans: dict[tuple[str, str], tuple[float, Rows]] = {}
        self._placed = 0.0, False  # when it was asked whether the program runs here, and whether

    async def open(self) -> None:
        """Begin to connect."""
        self.program.open()
        await self.pool.open()

    async def close(self) -> None:
        """Close all connections."""
        await self.program.close()
        await self.pool.close()
        await self.gateway.close()

    async def run(self, caller: Caller, *queries: RowsAsked) -> list[Rows]:
        """Return each query's rows: one transaction, as the caller's role."""
        results, warnings = await self._answer_to(caller, queries)
        caller.warnings += [w for w in warnings if w not in caller.warnings]
        return results

    async def _answer_to(
        self, caller: Caller, queries: Sequence[RowsAsked]
    ) -> tuple[list[Rows], list[str]]:
        if not answers(queries) or caller.asks_database or not await self._is_outside(caller):
            return await self._ask_database(caller, queries)
        try:
            return await self.pool.run_outside(self.program, caller.token, caller.scope, queries)
        except OtherProgramError:
            _log.warning("%s: the database runs it instead (%s)", OTHER_PROGRAM, HOW_TO_MATCH)
            return await self._ask_database(caller, queries)

    async def _is_outside(self, caller: Caller) -> bool:
        made, is_outside = self._placed
        if not made or time.monotonic() - made > _PLAN_SECONDS:
            (((row,),), _) = await self._ask_database(caller, [RowsAsked(SERVES_OUTSIDE, {})])
            is_outside = row["is_outside"]
            self._placed = time.monotonic(), is_outside
        return is_outside

    async def _ask_database(
        self, caller: Caller, queries: Sequence[RowsAsked]
    ) -> tuple[list[Rows], list[str]]:
        """Have the server answer, in one round trip."""
        return await self.pool.run(caller.token, caller.scope, queries)

    async def ask_models(
        self,
        caller: Caller,
        request: SearchRequest,
        profile: str | None,
        stages: Collection[str] = ("expand", "rerank"),
    ) -> ModelsAsked:
        """Return the request with what models say for it; no transaction is open meanwhile.

        Where the gateway is closed to this process the request stays as it is: the database asks.
        """

        async def is_replayed(place: str) -> bool:
            ((row,),) = await self.run(caller, RowsAsked(IS_REPLAYED, {"lsn": place}))
            return bool(row["is_replayed"])

        await changes_come(is_replayed, request.options)
        steps = model_steps(request, profile, stages)
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                asked: ModelsAsked = done.value
                caller.warnings += asked.warnings
                return asked
            try:
                answer = await self._answer(caller, step)
            except UnreachableGatewayError:
                caller.asks_database = True
                return ModelsAsked(request)

    async def _answer(self, caller: Caller, step: Step) -> Any:
        if not isinstance(step, RowsAsked):
            return await self.gateway.post(step)
        if step.sql is not PLAN:
            return (await self.run(caller, step))[0]
        names = ("profile", "options", "collections")
        key = caller.token, repr([step.parameters[name] for name in names])
        made, rows = self._plans.get(key, (0.0, []))
        if not rows or time.monotonic() - made > _PLAN_SECONDS:
            (rows,) = await self.run(caller, step)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = time.monotonic(), rows
        return rows
