"""What the graph adds to a search."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.fuse_graph import fuse_graph
from pgblend.plpy.graph_list import graph_list

Lists = Sequence[Mapping[str, Any]]


def graph_stage(
    lists: Lists,
    fused: dict[str, Any],
    settings: Mapping[str, Any],
    stored: Any,
    collection_ids: Sequence[int],
    tools: Mapping[str, Callable[..., Any]],
) -> tuple[Lists, dict[str, Any], Callable[[int], dict[str, Any]]]:
    """Return lists and pool with the graph's list, and what tells how a passage was found.

    The last gives {source, depth} of a chunk id: source is vector for what only the other lists
    found, graph for what only the graph did, hybrid for both; depth is 0 for a hit of the other
    lists, else the distance (S3). Without a weight nothing changes, and it gives {}. `stored` is
    what stored_passages returns; `tools`: done, skip, and warn(message, hint). `settings` also has
    the search's filter, as JSON text or None.
    """
    graph = settings["graph"]
    if graph["weight"] == 0:
        tools["skip"]("graph", "its weight is 0")
        return lists, fused, lambda _: {}
    cut = []

    def walk(nodes: Sequence[int], sources: int) -> Sequence[tuple[int, int, int]]:
        near, is_cut = stored.walk(nodes, sources, graph)
        cut.append(is_cut)
        return near  # type: ignore[no-any-return]

    seeds = fused["order"][: graph["seeds"] if graph["combine"] == "fused" else None]
    rows, gone = graph_list(
        fused,
        seeds,
        walk,
        lambda nodes: stored.node_passages(
            nodes, collection_ids, settings["filter"], settings["language"]
        ),
    )
    if any(cut):
        most = f"the graph has more than {graph['node_limit']} nodes in reach"
        tools["warn"](
            f"{most}: those of the heaviest edges are taken",
            "Raise node_limit of the option graph, or name edge_types.",
        )
    if gone:
        tools["warn"](
            f"nodes that edges lead to are gone and were skipped: {gone}",
            "Delete their edges: SELECT * FROM blend.edges",
        )
    hits = set(fused["chunk_ids"])
    distances = {row["chunk_id"]: row["distance"] for row in rows}
    if rows or graph["combine"] == "sum":
        lists, fused = fuse_graph(lists, fused, rows, settings, stored.ages_days)
    tools["done"]("graph", len(rows))

    def place(chunk_id: int) -> dict[str, Any]:
        if chunk_id not in hits:
            return {"source": "graph", "depth": distances[chunk_id]}
        return {"source": "hybrid" if chunk_id in distances else "vector", "depth": 0}

    return lists, fused, place
