"""Where the nodes of a neighbourhood stand: rings about the middle, one for each step."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from pgblend.cli.graph.neighbourhood import Node

# Room that a label takes on its ring, in pixels.
_LABEL_HEIGHT = 18.0


@dataclass(frozen=True)
class Spot:
    """A place, with its angle (radians) about the middle and its ring."""

    x: float
    y: float
    angle: float
    ring: int


def radial_layout(nodes: Sequence[Node], gap: float) -> tuple[dict[str, Spot], list[float]]:
    """Return the spot of each node by name, and the radii of the rings from ring 0.

    The first node stands in the middle. The tree of shortest ways is laid out in wedges, each as
    wide as the leaves below it ask for; rings are `gap` apart, and wide enough for their labels.
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
