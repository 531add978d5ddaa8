"""Who is let in: a token is looked up before anything else of a call is read or done."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.requests import Request

from pgblend.cli.serve.access import shown_token
from pgblend.cli.serve.limits import Limiter
from pgblend.cli.serve.policy import CallLimits
from pgblend.cli.serve.pool import Pool, check_scope

_KEPT_SECONDS = 1.0  # a token that is revoked is found out by its next statement anyway
_MOST_TOKENS = 10_000
# Tokens of an address that nobody knows yet.
_STRANGERS = CallLimits(concurrency=8, rate=10, burst=50)


@dataclass(frozen=True)
class Admitted:
    """A token, and what it is good for."""

    token: str
    scopes: list[str]


class Gate:
    """Looks tokens up, and counts by address who has none that is good.

    A token that was good before is looked up whatever else comes from its address: many callers
    share that of a proxy.
    """

    def __init__(
        self, pool: Pool, limits: CallLimits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Count what needs no token by `limits`, as calls of a token are."""
        self._pool = pool
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, list[str]]] = OrderedDict()
        self._strangers = Limiter(_fewer(limits), clock, who="the address")
        self._guests = Limiter(limits, clock, who="the address")

    async def admit(self, request: Request, scope: str | None = None) -> Admitted:
        """Return who calls; a Problem where the token is not good, or not for the scope."""
        try:
            token = shown_token(request)
        except Exception:
            with self._strangers.call(address_of(request)):
                raise
        found = self._known.get(token)
        if found is None:
            with self._strangers.call(address_of(request)):
                scopes = await self._look_up(token)
        elif found[0] < self._clock():
            scopes = await self._look_up(token)
        else:
            scopes = found[1]
        if scope is not None:
            check_scope(scope, scopes)
        return Admitted(token, scopes)

    @contextmanager
    def guest(self, request: Request) -> Iterator[None]:
        """Count a call that needs no token; a Problem where its address makes too many."""
        with self._guests.call(address_of(request)):
            yield

    async def _look_up(self, token: str) -> list[str]:
        self._known.pop(token, None)
        scopes = await self._pool.scopes(token)
        while len(self._known) >= _MOST_TOKENS:
            self._known.popitem(last=False)
        self._known[token] = self._clock() + _KEPT_SECONDS, scopes
        return scopes


def _fewer(limits: CallLimits) -> CallLimits:
    """Return how many unknown tokens an address may show: never more than calls of a token."""
    return CallLimits(
        min(_STRANGERS.concurrency, limits.concurrency),
        min(_STRANGERS.rate, limits.rate),
        min(_STRANGERS.burst, limits.burst),
    )


def address_of(request: Request) -> str:
    """Return whom a call comes from: all of a Unix socket are one."""
    return request.client.host if request.client else ""
