"""What every endpoint works with: the database as a caller's role, and models asked outside it."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pgblend.cli.ask.stream import UnreachableGatewayError
from pgblend.cli.replica import IS_REPLAYED, changes_come
from pgblend.cli.search_models import PLAN, ModelsAsked, Query, Step, model_steps
from pgblend.cli.search_request import SearchRequest
from pgblend.cli.serve.model_gateway import ModelGateway
from pgblend.cli.serve.pool import Pool

# A setting that is changed tells a second later whether models are asked, and at once all else.
_PLAN_SECONDS = 1.0
_MOST_PLANS = 1000
Rows = list[dict[str, Any]]


@dataclass
class Caller:
    """Who calls, what for, and what the server warned of meanwhile."""

    token: str
    scope: str
    warnings: list[str]


class Door:
    """The database's pool and the model gateway, shared by all callers."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.gateway = ModelGateway()
        self._plans: dict[tuple[str, str], tuple[float, Rows]] = {}

    async def close(self) -> None:
        """Close all connections."""
        await self.pool.close()
        await self.gateway.close()

    async def run(self, caller: Caller, *queries: Query) -> list[Rows]:
        """Return each query's rows: one transaction and one round trip, as the caller's role."""
        results, warnings = await self.pool.run(caller.token, caller.scope, queries)
        caller.warnings += [w for w in warnings if w not in caller.warnings]
        return results

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
            ((row,),) = await self.run(caller, Query(IS_REPLAYED, {"lsn": place}))
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
                return ModelsAsked(request)

    async def _answer(self, caller: Caller, step: Step) -> Any:
        if not isinstance(step, Query):
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
