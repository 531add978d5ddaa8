"""The graph around a document: its nodes where `graph show` has them, and the edges between."""

from dataclasses import asdict
from typing import Any

from pgblend.cli.graph.layout import radial_layout
from pgblend.cli.graph.neighbourhood import AROUND, BETWEEN, SELF, edges_of, nodes_of
from pgblend.cli.search_models import Query
from pgblend.cli.serve.door import Caller, Door

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
    (own,), near = await door.run(caller, Query(SELF, parameters), Query(AROUND, parameters))
    nodes = nodes_of(own, near)
    names: dict[str, object] = {"nodes": [node.name for node in nodes], "edge_types": None}
    (between,) = await door.run(caller, Query(BETWEEN, names))
    spots, _ = radial_layout(nodes, _RING)
    return {
        "nodes": [
            {**asdict(node), "x": spots[node.name].x, "y": spots[node.name].y} for node in nodes
        ],
        "edges": [asdict(edge) for edge in edges_of(between)],
        "degraded": [],
    }
