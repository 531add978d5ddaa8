"""The page's own files: what they are, and what a browser may do with them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

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
    ("pgblend.cli.pages", "templates/page.css"),
    ("pgblend.cli.explain", "templates/explain.css"),
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
