"""A neighbourhood as a picture: an SVG that fetches nothing and in which texts stay texts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import cos, degrees, pi, sin

from pgblend.cli.base import output
from pgblend.cli.base.pages import page_environment
from pgblend.cli.graph.neighbourhood import Neighbourhood, ShownEdge, ShownNode

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
