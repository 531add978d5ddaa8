"""The page: its files, the link that lets a browser in, and what it asks beside the interface."""

import hashlib
from collections.abc import AsyncGenerator, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC
from importlib.resources import files
from typing import Any, LiteralString

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pgblend.cli.doors import operations, schemas
from pgblend.cli.doors.answers import answer_events, ask_parameters, sse
from pgblend.cli.doors.door import Caller, Door
from pgblend.cli.doors.gate import TokenGate, cookie_name
from pgblend.cli.doors.operations import Endpoint
from pgblend.cli.doors.page.tuning import Tuner
from pgblend.cli.doors.problems import Problem
from pgblend.cli.doors.schemas import closed_object, reader
from pgblend.cli.doors.tokens import joined, new_halves
from pgblend.cli.graph.neighbourhood import AROUND, BETWEEN, SELF, edges_of, nodes_of, radial_layout
from pgblend.cli.measure.arm_candidates import ARMS
from pgblend.cli.models.middleware import read_body
from pgblend.cli.search import explain_flow, explain_page
from pgblend.cli.search.asked_models import RowsAsked
from pgblend.cli.search.explain_text import ScoreRow, score_rows
from pgblend.cli.search.explain_trace import Trace, milliseconds

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


# What the page can offer: collections, profiles, judged sets, and what the caller may do.

_FACTS = RowsAsked(
    """
    SELECT current_user::text AS role,
        blend.get_setting('default_profile') #>> '{}' AS profile,
        blend.get_setting('answer_model') #>> '{}' AS answer_model,
        blend.get_setting('expansion_model') #>> '{}' AS expansion_model,
        num_nonnulls(
            nullif(blend.get_setting('expansion_model'), 'null'),
            nullif(blend.get_setting('rerank_model'), 'null')) > 0 AS asks_models,
        pg_has_role('pgblend_writer', 'USAGE') AS may_write,
        pgblend._has_edges() AS has_graph
    """,
    {},
)
_COLLECTIONS = RowsAsked("SELECT c.name FROM blend.collections AS c ORDER BY c.name", {})
_PROFILES = RowsAsked(
    "SELECT p.name, p.description FROM blend.profiles AS p ORDER BY NOT p.built_in, p.name", {}
)
_JUDGED = RowsAsked(
    """
    SELECT j.name, j.collection, j.judged_queries AS queries
    FROM blend.judged_sets AS j WHERE j.judged_queries > 0 ORDER BY j.name
    """,
    {},
)


async def overview(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Say what there is to choose from."""
    (facts,), collections, profiles, judged = await door.run(
        caller, _FACTS, _COLLECTIONS, _PROFILES, _JUDGED
    )
    return {
        **facts,
        "collections": [row["name"] for row in collections],
        "profiles": profiles,
        "judged_sets": judged,
        "degraded": [],
    }


# What people who search from the page say of what they found.

_NOTE: LiteralString = """
    SELECT pgblend._note_feedback(
        %(query)s::text, %(chunk_id)s::bigint, %(grade)s::integer) AS judged_query
"""
_GRADES: LiteralString = """
    SELECT j.collection, j.source_key, j.grade
    FROM blend.judgements AS j
    WHERE j.query = %(query)s::text AND j.judged_set = left('feedback: ' || j.collection, 200)
"""


async def judge(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Note how well a passage answers a query, as `blend.feedback` does for a logged search."""
    await door.run(caller, RowsAsked(_NOTE, given))
    return {"grade": given["grade"], "degraded": []}


async def judgements(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Return what was said of documents for a query."""
    (rows,) = await door.run(caller, RowsAsked(_GRADES, given))
    return {"judgements": rows, "degraded": []}


# A search explained, as pictures that the page draws: the geometry of `--explain-html`.


async def explained(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Search once more with a trace; return what its pictures are made of."""
    found = await operations.explain(door, caller, given)
    trace = Trace.from_json(found)
    return {
        "total_ms": trace.total_ms,
        "flows": {name: _flow(trace, layout) for name, layout in _FLOWS.items()},
        "movements": {name: _movement(trace, layout) for name, layout in _MOVEMENTS.items()},
        "results": [
            {
                "rank": result.rank,
                "chunk_id": result.row["chunk_id"],
                "title": result.title,
                "score": result.score,
                "parts": [_part(row) for row in score_rows(result)],
            }
            for result in trace.results
        ],
        "degraded": found["degraded"],
    }


_FLOWS = {"wide": explain_flow.WIDE, "tall": explain_flow.TALL}
_MOVEMENTS = {"wide": explain_page.WIDE, "slim": explain_page.SLIM}
_SIZES = ("width", "height", "list_top", "row", "radius", "lacking_y", "page_end", "arms_end")


def _flow(trace: Trace, layout: explain_flow.FlowLayout) -> dict[str, Any]:
    drawn = explain_flow.draw_flow(trace, layout)
    boxes = [
        {
            "name": box.stage.name,
            "label": box.stage.label,
            "state": box.stage.state,
            "reason": box.stage.reason,
            "time": milliseconds(box.stage.ms),
            "rows": box.stage.rows,
            "unit": box.stage.unit,
            **{side: getattr(box, side) for side in ("x", "y", "width", "height", "bar")},
        }
        for box in drawn.boxes
    ]
    ribbons = [asdict(ribbon) for ribbon in drawn.ribbons]
    return {"width": drawn.width, "height": drawn.height, "boxes": boxes, "ribbons": ribbons}


def _movement(trace: Trace, layout: explain_page.TimesLayout) -> dict[str, Any]:
    drawn = explain_page.draw_movement(trace, layout)
    lines = [
        {
            "rank": line.result.rank,
            "title": line.result.title,
            "hue": line.hue,
            "solid": line.solid,
            "dashed": line.dashed,
            "dots": [asdict(dot) for dot in line.dots],
        }
        for line in drawn.lines
    ]
    columns = [asdict(column) for column in drawn.columns]
    sizes = {name: getattr(drawn, name) for name in _SIZES}
    return {**sizes, "columns": columns, "lines": lines}


def _part(row: ScoreRow) -> dict[str, Any]:
    return {**asdict(row), "label": row.label, "family": row.family}


# The graph around a document: its nodes where `graph show` has them, and the edges between.

_RING = 150.0  # pixels from one step to the next


async def around(door: Door, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    """Return the nodes one step from a node, the nearest first, and the edges between all."""
    parameters: dict[str, object] = {
        "node": given["node"],
        "depth": 1,
        "direction": "both",
        "edge_types": None,
        "limit": given["limit"],
    }
    (own,), near = await door.run(
        caller, RowsAsked(SELF, parameters), RowsAsked(AROUND, parameters)
    )
    nodes = nodes_of(own, near)
    names: dict[str, object] = {"nodes": [node.name for node in nodes], "edge_types": None}
    (between,) = await door.run(caller, RowsAsked(BETWEEN, names))
    spots, _ = radial_layout(nodes, _RING)
    return {
        "nodes": [
            {**asdict(node), "x": spots[node.name].x, "y": spots[node.name].y} for node in nodes
        ],
        "edges": [asdict(edge) for edge in edges_of(between)],
        "degraded": [],
    }


_QUERY = schemas.SEARCH["properties"]["query"]
_GRADE = schemas.FEEDBACK["properties"]
_JUDGEMENT = closed_object(
    ["query", "chunk_id", "grade"],
    {"query": _QUERY, "chunk_id": _GRADE["chunk_id"], "grade": _GRADE["grade"]},
)

_WEIGHT = {"type": "number", "minimum": 0, "maximum": 1000}
_TUNE = closed_object(
    ["judged_set", "weights"],
    {
        "judged_set": {"type": "string"},
        "collection": {"type": ["string", "null"]},
        "profile": schemas.SEARCH["properties"]["profile"],
        "weights": {
            "type": "object",
            "additionalProperties": False,
            "properties": {arm: _WEIGHT for arm in ARMS},
        },
    },
)
_NODE = closed_object(
    ["node", "limit"],
    {
        "node": {"type": "string", "pattern": "^(document|chunk|entity):[0-9]{1,18}$"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 200},
    },
)


def page_endpoints() -> tuple[Endpoint, ...]:
    """Return the page's endpoints; they keep what is tuned on."""
    query = closed_object(["query"], {"query": _QUERY})
    return (
        Endpoint("/page/overview", overview, "search", closed_object([], {}), ""),
        Endpoint("/page/explain", explained, "search", schemas.SEARCH, ""),
        Endpoint("/page/judge", judge, "feedback", _JUDGEMENT, ""),
        Endpoint("/page/judgements", judgements, "search", query, ""),
        Endpoint("/page/around", around, "search", _NODE, ""),
        Endpoint("/page/tune", Tuner().tune, "search", _TUNE, ""),
    )
