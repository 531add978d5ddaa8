"""Who may reach the door at all: the names that it answers to, and no page of another origin."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from pgblend.cli.serve.page.links import joined
from pgblend.cli.serve.problems import Problem

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")


class AccessMiddleware:
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
