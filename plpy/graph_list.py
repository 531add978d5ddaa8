"""The list of candidates that the graph gives."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

# How many of the nearest seeds each node remembers: the best of them counts, and a seed's own
# nodes do not.
WALK_SOURCES = 5


def graph_list(
    pool: Mapping[str, Any],
    seeds: Sequence[int],
    walk: Callable[..., Sequence[tuple[int, int, int]]],
    node_passages: Callable[[Sequence[int]], Sequence[tuple[int, int, int, int]]],
) -> tuple[list[dict[str, Any]], int]:
    """Return the passages that the graph leads to, best first, and how many nodes are gone.

    `pool` is what fuse_lists gives and `seeds` are items of it, best first. A passage stands for
    itself and for its document (nodes 4 · id + 1 and 4 · id), and reaching either reaches it; where
    several passages of a document are in the pool, its best one. `walk` gives (node, distance,
    seed's node) near nodes, for each the nearest seeds, `node_passages` (node, chunk id, document
    id, chunk index) of nodes that no passage of the pool stands for; chunk id 0 is a node that is
    gone.
    A row has `chunk_id`, `document_id`, `chunk_index`, `distance` from the nearest seed but itself,
    `score`, 1 / (1 + distance), and `near`, the best seed's points over the distance from it.
    """
    ids, documents, points = pool["chunk_ids"], pool["document_ids"], pool["points"]
    seed_of: dict[int, int] = {}
    for item in seeds:
        seed_of.setdefault(ids[item] * 4 + 1, item)
        seed_of.setdefault(documents[item] * 4, item)
    item_of: dict[int, int] = {}
    for item in pool["order"]:
        item_of.setdefault(documents[item] * 4, item)
        item_of[ids[item] * 4 + 1] = item
    reached: dict[int, list[tuple[int, float]]] = {}
    for node, distance, seed in walk(list(seed_of), WALK_SOURCES):
        if distance and seed not in (node, *_own_nodes(pool, item_of.get(node))):
            reached.setdefault(node, []).append((distance, points[seed_of[seed]]))
    rows: dict[int, dict[str, Any]] = {}

    def add(node: int, chunk_id: int, document_id: int, chunk_index: int) -> None:
        ways = reached[node]
        distance = min(way[0] for way in ways)
        near = max(seed_points / steps for steps, seed_points in ways)
        old = rows.get(chunk_id, {"distance": distance, "near": near})
        distance, near = min(distance, old["distance"]), max(near, old["near"])
        rows[chunk_id] = {
            "chunk_id": chunk_id,
            "document_id": document_id,
            "chunk_index": chunk_index,
            "distance": distance,
            "score": 1 / (1 + distance),
            "near": near,
        }

    for node in reached:
        if node in item_of:
            own = item_of[node]
            add(node, ids[own], documents[own], pool["chunk_indexes"][own])
    gone = 0
    for node, chunk_id, document_id, chunk_index in node_passages(
        [node for node in reached if node not in item_of]
    ):
        if chunk_id:
            add(node, chunk_id, document_id, chunk_index)
        else:
            gone += 1
    order = sorted(
        rows.values(), key=lambda row: (-row["near"], row["document_id"], row["chunk_index"])
    )
    return order, gone


def _own_nodes(pool: Mapping[str, Any], item: int | None) -> tuple[int, ...]:
    """Return the nodes that a passage of the pool stands for."""
    if item is None:
        return ()
    return pool["chunk_ids"][item] * 4 + 1, pool["document_ids"][item] * 4
