"""The routes of the page: its files, the link that lets a browser in, and what it asks beside."""

from datetime import UTC
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pgblend.cli.gateway.receive import read_body
from pgblend.cli.serve.access import cookie_name
from pgblend.cli.serve.body import reader
from pgblend.cli.serve.door import Door
from pgblend.cli.serve.gate import Gate
from pgblend.cli.serve.page.assets import read_assets
from pgblend.cli.serve.page.links import joined, new_halves
from pgblend.cli.serve.problems import Problem

_LINK: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["link"],
    "properties": {"link": {"type": "string", "maxLength": 200}},
}
_MOST_BYTES = 1024


def page_routes(door: Door, gate: Gate) -> list[Route]:
    """Return the routes that need no token."""
    return [
        *(asset.route() for asset in read_assets()),
        Route("/page/session", _opener(door, gate), methods=["POST"]),
    ]


def _opener(door: Door, gate: Gate) -> Any:
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
