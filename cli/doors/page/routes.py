"""The routes of the page: its files, the link that lets a browser in, and what it asks beside."""

import hashlib
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from datetime import UTC
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pgblend.cli.doors.answers import answer_events, ask_parameters
from pgblend.cli.doors.body import reader
from pgblend.cli.doors.chat_answers import sse
from pgblend.cli.doors.door import Caller, Door
from pgblend.cli.doors.gate import TokenGate, cookie_name
from pgblend.cli.doors.problems import Problem
from pgblend.cli.doors.tokens import joined, new_halves
from pgblend.cli.models.middleware import read_body

# The page's answer as it grows: server-sent events, which take nothing back.


async def stream(door: Door, caller: Caller, given: dict[str, Any]) -> AsyncGenerator[bytes, None]:
    """Yield {"text"} of each checked sentence, then {"document"}: what /v1/ask answers."""
    async for told in answer_events(door, caller, ask_parameters(given)):
        yield sse({"text": told} if isinstance(told, str) else {"document": told})


def error_event(problem: Problem) -> bytes:
    """Return the event that tells of a failure after the first sentence."""
    return sse({"problem": problem.body()})


# The page's own files: what they are, and what a browser may do with them.

# Nothing from elsewhere, no script or style in the text, and no text that becomes elements.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # asked for each time, and sent where it has changed
}
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# One style: that of all pages, that of explained searches, and what this page has beside.
_STYLES = (
    ("pgblend.cli.base", "templates/page.css"),
    ("pgblend.cli.search", "templates/explain.css"),
    (__package__, "static/page.css"),
)


@dataclass(frozen=True)
class Asset:
    """One file: its path on the server and its bytes."""

    path: str
    content: bytes

    def route(self) -> Route:
        """Return the route that sends it, or says that the browser has it already."""
        etag = f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'
        headers = {**_HEADERS, "ETag": etag}
        media_type = _TYPES[self.path.rpartition(".")[2] if "." in self.path else "html"]

        async def send(request: Request) -> Response:
            if request.headers.get("if-none-match") == etag:
                return Response(status_code=304, headers=headers)
            return Response(self.content, headers=headers, media_type=media_type)

        return Route(self.path, send)


def read_assets() -> Iterator[Asset]:
    """Yield the page, its style and its modules."""
    static = files(__package__) / "static"
    yield Asset("/", (static / "index.html").read_bytes())
    style = b"".join((files(package) / name).read_bytes() for package, name in _STYLES)
    yield Asset("/page/page.css", style)
    for file in static.iterdir():
        if file.name.endswith((".js", ".svg")):
            yield Asset(f"/page/{file.name}", file.read_bytes())


_LINK: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["link"],
    "properties": {"link": {"type": "string", "maxLength": 200}},
}
_MOST_BYTES = 1024


def page_routes(door: Door, gate: TokenGate) -> list[Route]:
    """Return the routes that need no token."""
    return [
        *(asset.route() for asset in read_assets()),
        Route("/page/session", _opener(door, gate), methods=["POST"]),
    ]


def _opener(door: Door, gate: TokenGate) -> Any:
    read = reader(_LINK)

    async def open_link(request: Request) -> Response:
        """Let the browser in that follows a link: half of its token is a cookie, it keeps half."""
        with gate.guest(request):
            link = read(await read_body(request, _MOST_BYTES))["link"]
            cookie, key = new_halves()
            opened = await door.pool.open_link(link, joined(cookie, key))
        if opened is None:
            detail = "the link was opened before, or is older than ten minutes"
            hint = "have a new one made: pgblend open, or pgblend serve link --role ROLE"
            raise Problem(401, "invalid-link", detail, hint=hint)
        answer = {"key": key, "scopes": opened["scopes"]}
        response = JSONResponse(answer, headers={"Cache-Control": "no-store"})
        response.set_cookie(
            cookie_name(request),
            cookie,
            expires=opened["expires_at"].astimezone(UTC),
            secure=request.headers.get("origin", "").startswith("https:"),
            httponly=True,
            samesite="strict",
        )
        return response

    return open_link
