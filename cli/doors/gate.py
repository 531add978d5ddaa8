"""Who is let in, how often, and with which token: before anything else of a call is done."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from pgblend.cli.doors.connection_pool import ConnectionPool, check_scope
from pgblend.cli.doors.problems import Problem
from pgblend.cli.doors.tokens import joined
from pgblend.cli.models.access import Limiter
from pgblend.cli.models.gateway_options import CallLimits

_MOST_TOKENS = 10_000  # that are kept in mind; the oldest are forgotten

# Who may reach the door at all: the names that it answers to, and no page of another origin.

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")


class GateMiddleware:
    """Refuses other hosts (DNS rebinding), other origins, and bodies that are not JSON.

    No header of CORS is ever sent: a browser keeps what it gets from other pages.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, or answer with what is wrong."""
        problem = self._refusal(Headers(scope=scope), scope) if scope["type"] == "http" else None
        answer = problem.response(scope["path"]) if problem else self._app
        await answer(scope, receive, send)

    def _refusal(self, headers: Headers, scope: Scope) -> Problem | None:
        host = headers.get("host", "")
        if _name(f"//{host}") not in self._hosts:
            detail = f"this server answers to {', '.join(sorted(self._hosts))} only"
            hint = "add the name: pgblend serve --allow-host NAME"
            return Problem(403, "host-not-allowed", detail, hint=hint)
        origin = headers.get("origin")
        if origin is not None and not _is_same(origin, host):
            detail = "pages of other origins may not call this server"
            return Problem(403, "origin-not-allowed", detail)
        if scope["method"] == "POST" and not _is_json(headers):
            detail = "send the body as Content-Type: application/json"
            return Problem(415, "unsupported-media-type", detail)
        return None


def shown_token(request: Request) -> str:
    """Return the token that a call shows; a Problem where it shows none.

    The page has half of it in a cookie, and shows the other: Authorization: Page …
    """
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    shown = shown.strip()
    if scheme.lower() == "bearer" and shown:
        return shown
    cookie = request.cookies.get(cookie_name(request))
    if scheme.lower() == "page" and shown and cookie:
        return joined(cookie, shown)
    detail = "send a token: Authorization: Bearer …"
    hint = "have one made: pgblend serve token make --role ROLE"
    raise Problem(401, "invalid-token", detail, hint=hint)


def cookie_name(request: Request) -> str:
    """Return the name of the page's cookie: browsers keep one of a name for all ports of a host."""
    return f"pgblend-{request.url.port or 'page'}"


def _is_same(origin: str, host: str) -> bool:
    """Tell whether an origin is this server's; a proxy may have ended its TLS."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc == host


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_json(headers: Headers) -> bool:
    return headers.get("content-type", "").split(";")[0].strip().lower() == "application/json"


_KEPT_SECONDS = 1.0  # a token that is revoked is found out by its next statement anyway
# Tokens of an address that nobody knows yet.
_STRANGERS = CallLimits(concurrency=8, rate=10, burst=50)


@dataclass(frozen=True)
class Admitted:
    """A token, and what it is good for."""

    token: str
    scopes: list[str]


class TokenGate:
    """Looks tokens up, and counts by address who has none that is good.

    A token that was good before is looked up whatever else comes from its address. Many callers
    share that of a proxy.
    """

    def __init__(
        self, pool: ConnectionPool, limits: CallLimits, clock: Callable[[], float] = time.monotonic
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
        """Return what a token is good for; one that is not good any more is a stranger's again."""
        try:
            scopes = await self._pool.scopes(token)
        finally:  # not before: a known token's other calls would be counted as a stranger's
            self._known.pop(token, None)
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
