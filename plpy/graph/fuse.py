"""What the graph adds to a search."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.fusion.lists import fuse_ranks, list_column, merge_lists, recency_decay
from pgblend.plpy.fusion.scores import scale_fused, weighted_sums

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
    ids, documents = pool["chunk_ids"], pool["document_ids"]
    item_of: dict[int, int] = {}
    for item in pool["order"]:
        item_of.setdefault(documents[item] * 4, item)
        item_of[ids[item] * 4 + 1] = item
    reached = _reached(pool, seeds, item_of, walk)
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


def _reached(
    pool: Mapping[str, Any],
    seeds: Sequence[int],
    item_of: Mapping[int, int],
    walk: Callable[..., Sequence[tuple[int, int, int]]],
) -> dict[int, list[tuple[int, float]]]:
    """Return (distance, points of the seed) of the ways to each node, but from itself."""
    ids, documents, points = pool["chunk_ids"], pool["document_ids"], pool["points"]
    seed_of: dict[int, int] = {}
    for item in seeds:
        seed_of.setdefault(ids[item] * 4 + 1, item)
        seed_of.setdefault(documents[item] * 4, item)
    reached: dict[int, list[tuple[int, float]]] = {}
    for node, distance, seed in walk(list(seed_of), WALK_SOURCES):
        if distance and seed not in (node, *_own_nodes(pool, item_of.get(node))):
            reached.setdefault(node, []).append((distance, points[seed_of[seed]]))
    return reached


def _own_nodes(pool: Mapping[str, Any], item: int | None) -> tuple[int, ...]:
    """Return the nodes that a passage of the pool stands for."""
    if item is None:
        return ()
    return pool["chunk_ids"][item] * 4 + 1, pool["document_ids"][item] * 4


def _list_of(rows: Sequence[Mapping[str, Any]], weight: float) -> dict[str, Any]:
    """Return the rows of graph_list as one more list."""
    return {
        "arm": "graph",
        "kind": "graph",
        "by_vector": False,
        "weight": weight,
        "perfect": 0.5,
        "scores": [row["score"] for row in rows],
        "notes": {rank: {"distance": row["distance"]} for rank, row in enumerate(rows, 1)},
        "chunk_ids": [row["chunk_id"] for row in rows],
        "document_ids": [row["document_id"] for row in rows],
        "chunk_indexes": [row["chunk_index"] for row in rows],
    }


def fuse_graph(
    lists: Sequence[Mapping[str, Any]],
    fused: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    ages_days: Callable[[Sequence[int]], Sequence[float | None]],
) -> tuple[list[Mapping[str, Any]], dict[str, Any]]:
    """Return the lists with the graph's at their end, and the pool fused anew (fuse_lists).

    `rows` are those of graph_list. The list's weight is `weight` times that of all other lists
    together: by ranks it adds weight / (k + rank), else `near`, the points of the best seed over
    the distance from it. With combine "sum" scores are added as they are, each 0 where it is
    missing: cosine + weight / (1 + distance) (S3).
    """
    graph = settings["graph"]
    total = sum(fused["weights"]) or 1.0
    is_sum, by_ranks = graph["combine"] == "sum", fused["normal"] is None
    weight = graph["weight"] * (1.0 if is_sum else total)
    of_graph = _list_of(rows, weight)
    old = dict(zip(fused["chunk_ids"], range(len(fused["chunk_ids"])), strict=True))
    pool = merge_lists([*lists, of_graph])
    place = [old.get(chunk_id) for chunk_id in pool["chunk_ids"]]
    count = len(place)

    def moved(values: Sequence[Any], missing: Any) -> list[Any]:
        return [missing if item is None else values[item] for item in place]

    recency = None
    if fused["recency"] is not None:
        ages = ages_days(pool["document_ids"])
        recency = recency_decay([1.0] * count, ages, settings["recency_half_life_days"])
    near = {row["chunk_id"]: row["near"] for row in rows}
    near_of = [near.get(chunk_id, 0.0) for chunk_id in pool["chunk_ids"]]
    decay = recency or [1.0] * count
    share, bonus, unmoved = 1.0, fused["bonus"], fused["unmoved"]
    if is_sum:
        parts = [
            list_column(of_list, of_list["scores"], pool["chunk_ids"], 0.0)
            for of_list in (*lists, of_graph)
        ]
        weights = [*(1.0 for _ in lists), weight]
        sums = [
            score * left for score, left in zip(weighted_sums(parts, weights), decay, strict=True)
        ]
        bonus, unmoved = [0.0] * len(bonus), None
        attainable, normal, total = float(len(lists)) + weight / 2, parts, 1.0
    else:
        weights = [*fused["weights"], weight]
        if by_ranks:
            gained, most = fuse_ranks([pool["ranks"][-1]], [weight], settings["rrf_k"])
            normal, total = None, total + weight
        else:
            share = total / (total + weight)
            gained = [near * (1 - share) for near in near_of]
            most = 1 - share
            normal = [*(moved(of_list, 0.0) for of_list in fused["normal"]), near_of]
            total += weight
        sums = [
            before * share + gain * left
            for before, gain, left in zip(moved(fused["sums"], 0.0), gained, decay, strict=True)
        ]
        attainable = fused["attainable"] * share + most
    # A sum with a negative cosine may lie below 0.
    points = [max(point, 0.0) for point in scale_fused(sums, attainable, "attainable")]
    return [*lists, of_graph], {
        **pool,
        "sums": sums,
        "attainable": attainable,
        "points": points,
        "order": sorted(range(count), key=lambda item: -sums[item]),
        "bonus": [amount * share for amount in moved(bonus, 0.0)],
        "recency": recency,
        "normal": normal,
        "weights": weights,
        "total": total,
        "feedback": fused["feedback"],
        "unmoved": unmoved and moved(unmoved, 0.0),
    }


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
