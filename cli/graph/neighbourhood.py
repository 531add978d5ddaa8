"""A node with what is around it, the edges between, and its picture: texts stay texts."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import cos, degrees, pi, sin
from typing import Any, LiteralString

from pgblend.cli.base import output
from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.pages import page_environment
from pgblend.cli.base.parameters import shorten

_NODE = "SELECT blend.graph_node(%(collection)s::text, %(key)s::text)"
_DOCUMENT = """
    SELECT 'document:' || pgblend._find_document(
        %(key)s::text, pgblend._searched_collections(NULL))
"""
SELF: LiteralString = """
    SELECT pgblend._node_name(f.node) AS node, f.kind, f.title, f.source_key
    FROM pgblend._node_facts(ARRAY[pgblend._node_id(%(node)s::text)]) AS f
"""
AROUND: LiteralString = """
    SELECT n.neighbour AS node, n.kind, n.title, n.source_key, n.distance, n.via
    FROM blend.graph_neighbors(
        %(node)s::text, %(depth)s::integer, %(direction)s::text, %(edge_types)s::text[],
        %(limit)s::integer) AS n
"""
BETWEEN: LiteralString = """
    WITH inside AS (
        SELECT array_agg(pgblend._node_id(n)) AS ids FROM unnest(%(nodes)s::text[]) AS n
    )
    SELECT DISTINCT pgblend._node_name(e.node) AS source, pgblend._node_name(e.neighbour) AS target,
        e.edge_type
    FROM inside AS i
    CROSS JOIN LATERAL pgblend._neighbours(i.ids, 'out', %(edge_types)s::text[], 100000) AS e
    WHERE e.neighbour = ANY (i.ids)
    ORDER BY 1, 2, 3
"""


@dataclass(frozen=True)
class ShownNode:
    """A node; `via` is the one before it on the way from the first, which has distance 0.

    `title` names it as no other node is named: of several with one title each has its key, too.
    """

    name: str
    kind: str
    title: str
    source_key: str
    distance: int
    via: str


@dataclass(frozen=True)
class ShownEdge:
    """An edge between two nodes that are shown."""

    source: str
    target: str
    type: str


@dataclass(frozen=True)
class Neighbourhood:
    """The first node is the one that was asked for; the others come nearest first."""

    nodes: Sequence[ShownNode]
    edges: Sequence[ShownEdge]


def find_node(connection: Connection, text: str, collection: str | None) -> str:
    """Return the node that a user means: kind:id, or the source key or URI of a document."""
    if collection is not None:
        return str(fetch_value(connection, _NODE, {"collection": collection, "key": text}))
    kind, _, number = text.partition(":")
    if kind in ("document", "chunk", "entity") and number.isdecimal():
        return text
    found = fetch_value(connection, _DOCUMENT, {"key": text})
    if found is None:
        raise UserError(
            f"{shorten(text)} is no node",
            hint="give the source key or URI of a document, or document:ID, chunk:ID or entity:ID",
        )
    return str(found)


def read_neighbourhood(
    connection: Connection,
    node: str,
    depth: int,
    direction: str,
    edge_types: Sequence[str],
    limit: int,
) -> Neighbourhood:
    """Read the nodes within some steps of a node, and the edges between them."""
    parameters: dict[str, object] = {
        "node": node,
        "depth": depth,
        "direction": direction,
        "edge_types": list(edge_types) or None,
        "limit": limit,
    }
    around = fetch_rows(connection, AROUND, parameters)
    (own,) = fetch_rows(connection, SELF, parameters)
    nodes = nodes_of(own, around)
    parameters["nodes"] = [each.name for each in nodes]
    return Neighbourhood(nodes, edges_of(fetch_rows(connection, BETWEEN, parameters)))


def nodes_of(own: Mapping[str, Any], around: Sequence[Mapping[str, Any]]) -> list[ShownNode]:
    """Return the nodes of SELF's row and AROUND's rows."""
    rows = [{**own, "distance": 0, "via": ""}, *around]
    return [
        ShownNode(
            row["node"], row["kind"], title, row["source_key"] or "", row["distance"], row["via"]
        )
        for row, title in zip(rows, distinct_titles(rows), strict=True)
    ]


def edges_of(between: Sequence[Mapping[str, Any]]) -> list[ShownEdge]:
    """Return the edges of BETWEEN's rows."""
    return [ShownEdge(row["source"], row["target"], row["edge_type"]) for row in between]


def distinct_titles(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the titles of nodes, with the source key where several have one, or else the node."""
    counts = Counter(row["title"] for row in rows)
    keys = Counter((row["title"], row["source_key"]) for row in rows)
    titles = []
    for row in rows:
        title, key = row["title"], row["source_key"]
        if counts[title] > 1:
            is_told = key and key != title and keys[title, key] == 1
            title = f"{title} ({key if is_told else row['node']})"
        titles.append(title)
    return titles


# Where the nodes of a neighbourhood stand: rings about the middle, one for each step.

# Room that a label takes on its ring, in pixels.
_LABEL_HEIGHT = 18.0


@dataclass(frozen=True)
class Spot:
    """A place, with its angle (radians) about the middle and its ring."""

    x: float
    y: float
    angle: float
    ring: int


def radial_layout(nodes: Sequence[ShownNode], gap: float) -> tuple[dict[str, Spot], list[float]]:
    """Return the spot of each node by name, and the radii of the rings from ring 0.

    The first node stands in the middle. The tree of shortest ways is laid out in wedges, each as
    wide as the leaves below it ask for. Rings are `gap` apart, and wide enough for their labels.
    """
    children: dict[str, list[str]] = defaultdict(list)
    rings: dict[int, int] = defaultdict(int)
    for node in nodes[1:]:
        children[node.via].append(node.name)
        rings[node.distance] += 1
    leaves: dict[str, int] = {}
    for node in reversed(nodes):
        leaves[node.name] = sum(leaves[child] for child in children[node.name]) or 1
    radii = [0.0]
    for ring in range(1, max(rings, default=0) + 1):
        needed = rings[ring] * _LABEL_HEIGHT / (2 * pi)
        radii.append(max(radii[-1] + gap, needed))
    distance = {node.name: node.distance for node in nodes}
    spots = {nodes[0].name: Spot(0.0, 0.0, 0.0, 0)}
    wedges = {nodes[0].name: (-pi, pi)}
    for node in nodes:
        start, end = wedges[node.name]
        step = (end - start) / leaves[node.name]
        for child in children[node.name]:
            stop = start + step * leaves[child]
            wedges[child] = (start, stop)
            angle, ring = (start + stop) / 2, distance[child]
            radius = radii[ring]
            spots[child] = Spot(radius * cos(angle), radius * sin(angle), angle, ring)
            start = stop
    return spots, radii


# Colours that differ for the colour-blind too (Okabe and Ito), by kind of node.
_COLOURS = {"document": "#0072b2", "chunk": "#009e73", "entity": "#d55e00"}
_EDGE_COLOURS = ("#56606b", "#b24a9b", "#8a6d00", "#2f7f4f", "#a33b2a", "#3b62b0")
_LONGEST_LABEL = 34
_LETTER_WIDTH = 6.6
_MARGIN = 24
_LEGEND_LINE = 22


def draw(neighbourhood: Neighbourhood) -> str:
    """Return the picture as SVG: the node in the middle, the others on rings by their distance.

    Arrows run from source to target, their colour says the type. Who points at a node or an edge
    sees its whole name.
    """
    widths = {node.name: 10 + _LETTER_WIDTH * len(_label(node)) for node in neighbourhood.nodes}
    spots, radii = radial_layout(neighbourhood.nodes, max(100.0, max(widths.values()) + 20))
    half, high = _extent(spots, radii, widths)
    types = sorted({edge.type for edge in neighbourhood.edges})
    colours = {name: _EDGE_COLOURS[n % len(_EDGE_COLOURS)] for n, name in enumerate(types)}
    left = -half + _MARGIN
    legend, below = _legend(neighbourhood, colours, left, high + 12, half - _MARGIN)
    height = 2 * high + below + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-half:.0f} {-high:.0f} '
        f'{2 * half:.0f} {height:.0f}" width="{2 * half:.0f}" '
        f'height="{height:.0f}" role="img" font-family="sans-serif" '
        f'font-size="12"><title>{_text(neighbourhood.nodes[0].title)}</title>',
        f'<rect x="{-half:.0f}" y="{-high:.0f}" width="100%" height="100%" fill="#fff"/>',
        _markers(colours),
        *(f'<circle r="{radius:.0f}" fill="none" stroke="#e6e8eb"/>' for radius in radii if radius),
        *(_edge(edge, spots, colours, neighbourhood) for edge in neighbourhood.edges),
        *(_node(node, spots[node.name]) for node in neighbourhood.nodes),
        *legend,
        "</svg>",
    ]
    return "\n".join(parts)


def _extent(
    spots: dict[str, Spot], radii: list[float], widths: dict[str, float]
) -> tuple[float, float]:
    """Return how far the picture goes to the side, and up and down, labels included."""
    half, high = max(radii[-1], widths[next(iter(spots))] / 2), max(radii[-1], 30.0)
    for name, spot in spots.items():
        if spot.ring:
            half = max(half, abs(spot.x + widths[name] * cos(spot.angle)))
            high = max(high, abs(spot.y + widths[name] * sin(spot.angle)))
    return half + _MARGIN, high + _MARGIN


def _label(node: ShownNode) -> str:
    return _short(output.one_line(node.title))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 1] + "…"


def _markers(colours: dict[str, str]) -> str:
    heads = "".join(
        f'<marker id="head-{place}" viewBox="0 0 8 8" refX="13" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        for place, colour in enumerate(colours.values())
    )
    return f"<defs>{heads}</defs>"


def _edge(
    edge: ShownEdge, spots: dict[str, Spot], colours: dict[str, str], around: Neighbourhood
) -> str:
    start, end = spots[edge.source], spots[edge.target]
    # Bent towards the middle between nodes of one ring, else nearly straight.
    bend = 0.55 if start.ring == end.ring else 0.92
    x, y = (start.x + end.x) / 2 * bend, (start.y + end.y) / 2 * bend
    titles = {node.name: node.title for node in around.nodes}
    told = f"{titles[edge.source]} — {edge.type} → {titles[edge.target]}"
    head = list(colours).index(edge.type)
    return (
        f'<path d="M{start.x:.1f} {start.y:.1f}Q{x:.1f} {y:.1f} {end.x:.1f} {end.y:.1f}" '
        f'fill="none" stroke="{colours[edge.type]}" stroke-opacity=".55" '
        f'marker-end="url(#head-{head})"><title>{_text(told)}</title></path>'
    )


def _node(node: ShownNode, spot: Spot) -> str:
    label = _label(node)
    colour = _COLOURS[node.kind]
    told = f"{node.name} {node.title} {node.source_key}"
    if spot.ring == 0:
        text = f'<text y="-14" text-anchor="middle" font-weight="bold">{_text(label)}</text>'
        return (
            f'<g class="node"><title>{_text(told)}</title>'
            f'<circle r="9" fill="{colour}" stroke="#fff" stroke-width="2"/>{text}</g>'
        )
    leftwards = cos(spot.angle) < -1e-9
    turn = degrees(spot.angle) + (180 if leftwards else 0)
    anchor, offset = ("end", -10) if leftwards else ("start", 10)
    return (
        f'<g class="node" transform="translate({spot.x:.1f} {spot.y:.1f})">'
        f"<title>{_text(told)}</title>"
        f'<circle r="5.5" fill="{colour}" stroke="#fff" stroke-width="1.5"/>'
        f'<text transform="rotate({turn % 360:.1f})" x="{offset}" dy=".35em" '
        f'text-anchor="{anchor}" stroke="#fff" stroke-width="3" paint-order="stroke">'
        f"{_text(label)}</text></g>"
    )


def _legend(
    around: Neighbourhood, colours: dict[str, str], left: float, top: float, right: float
) -> tuple[list[str], float]:
    """Return the legend, on as many lines as it needs, and its height."""
    entries = [
        (f'<circle cx="5" r="5" fill="{_COLOURS[kind]}"/>', 14, kind)
        for kind in sorted({node.kind for node in around.nodes})
    ]
    entries += [
        (f'<path d="M0 0h18" stroke="{colour}" stroke-width="2"/>', 24, _short(name))
        for name, colour in colours.items()
    ]
    parts = []
    x, y = left, top
    for mark, indent, name in entries:
        width = indent + _LETTER_WIDTH * len(name) + 20
        if x > left and x + width > right:
            x, y = left, y + _LEGEND_LINE
        parts.append(
            f'<g transform="translate({x:.0f} {y:.0f})">{mark}'
            f'<text x="{indent}" y="4">{_text(name)}</text></g>'
        )
        x += width
    return parts, y - top + _LEGEND_LINE


def _text(text: str) -> str:
    return escape(output.one_line(text))


# A neighbourhood as a page: its picture, and its edges as a table for reading aloud.


def render_page(around: Neighbourhood) -> str:
    """Return the page as HTML; it fetches nothing."""
    from markupsafe import Markup

    return (
        page_environment("pgblend.cli.graph")
        .get_template("graph.html")
        .render(
            around=around,
            start=around.nodes[0],
            titles={node.name: node.title for node in around.nodes},
            picture=Markup(draw(around)),
        )
    )
