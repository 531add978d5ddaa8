"""The graph's list fused with what the other lists gave."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.fuse_ranks import fuse_ranks
from pgblend.plpy.list_column import list_column
from pgblend.plpy.merge_lists import merge_lists
from pgblend.plpy.recency_decay import recency_decay
from pgblend.plpy.scale_fused import scale_fused
from pgblend.plpy.weighted_sums import weighted_sums


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
    of_graph = {
        "arm": "graph",
        "kind": "graph",
        "by_vector": False,
        "weight": weight,
        "perfect": 0.5,
        "scores": [row["score"] for row in rows],
        "notes": {rank: {"distance": row["distance"]} for rank, row in enumerate(rows, 1)},
        **{
            f"{name}{'es' if name.endswith('x') else 's'}": [row[name] for row in rows]
            for name in ("chunk_id", "document_id", "chunk_index")
        },
    }
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
