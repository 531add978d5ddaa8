"""Fused and rerank scores blended by position."""

from collections.abc import Mapping, Sequence
from math import inf

from pgblend.plpy.base.catalog import Blend
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.scores import scale_fused


def blend_addends(fused: float, rerank: float, rank: int, n: int, blend: Blend) -> dict[str, float]:
    """Return {fused, rerank, position}, which add up to the blended score (blend_scores).

    `blend` is the setting, `rank` the fused rank among the `n` items that were reranked.
    """
    weights = blend
    if blend["kind"] == "tiers":
        reached = (t for t in blend["tiers"] if rank <= (t.get("max_rank") or inf))
        weights = next(reached, blend["tiers"][-1])
    position = weights.get("position", 0)
    total = float(weights["fused"] + weights["rerank"] + position)
    if total <= 0:
        return dict.fromkeys(("fused", "rerank", "position"), 0.0)
    return {
        "fused": weights["fused"] * fused / total,
        "rerank": weights["rerank"] * rerank / total,
        "position": position * (1 - (rank - 1) / n) / total,
    }


def blend_ceiling(blend: Blend, most_fused: float) -> float:
    """Return the highest blended score there can be: fused `most_fused`, reranked 1, rank 1.

    The largest over all tiers, so that dividing by it brings every blended score to [0, 1] and
    changes no order.
    """
    parts = blend["tiers"] if blend["kind"] == "tiers" else [blend]
    ceilings = []
    for part in parts:
        position = part.get("position", 0)
        total = part["fused"] + part["rerank"] + position
        reached = part["fused"] * most_fused + part["rerank"] + position
        ceilings.append(reached / total if total > 0 else 0.0)
    return max(ceilings) or 1.0


def blend_scores(
    fused: Sequence[float],
    rerank: Sequence[float | None],
    blend: Blend,
    ranks: Sequence[int] | None = None,
    n: int | None = None,
) -> list[float]:
    """Return the blended score of each item.

    `ranks` are the fused ranks, by default the places in the order given (best fused score first);
    `n` is how many items were reranked, by default those of them here. Kinds:
    - tiers: `tiers` are [{max_rank, fused, rerank}] by rising max_rank (None or missing: to the
      end). The first that reaches the rank, or else the last, gives the weights (S0, S1: .75/.25 to
      rank 3, .60/.40 to rank 10, .40/.60 beyond).
    - position: weights `rerank`, `fused` and `position` (S2: .5, .3, .2) of the two scores and of
      1 - (rank - 1) / n.
    The score is the weighted mean, which is the weighted sum where the weights add up to 1.

    An item that was not reranked (None) has its fused score times the lowest blended one. So fused
    scores in [0, 1] stay in their order and below what the reranker saw. Where it saw none, fused
    scores stay as they are.
    """
    ranks = range(1, len(fused) + 1) if ranks is None else ranks
    n = sum(score is not None for score in rerank) if n is None else n
    blended = [
        None if other is None else _total(blend_addends(score, other, rank, n, blend))
        for score, other, rank in zip(fused, rerank, ranks, strict=True)
    ]
    floor = min((score for score in blended if score is not None), default=1.0)
    return [
        score * floor if total is None else total
        for score, total in zip(fused, blended, strict=True)
    ]


def _total(addends: Mapping[str, float]) -> float:
    return addends["fused"] + addends["rerank"] + addends["position"]


def blended_order(
    items: Sequence[int],
    scores: Mapping[int, float],
    fused: Fused,
    blend: Blend,
    scale: str,
) -> tuple[list[int], list[float], dict[int, dict[str, float]]]:
    """Return the items, best first, the scores in [0, 1] of all items, and what those add up.

    `items` are in fused order, `scores` has those that were reranked, and `scale` is the setting
    fused_scale. A rank is the place among the reranked ones.
    What was not reranked stays below, in its order. Of the reranked ones the last gives the addends
    of their scores (blend_addends).
    """
    seen = [item for item in items if item in scores]
    scaled = scale_fused(fused.sums, fused.attainable, scale)
    ceiling = blend_ceiling(blend, fused.attainable if scale == "raw" else 1.0)
    points, addends = {}, {}
    for rank, item in enumerate(seen, 1):
        told = blend_addends(scaled[item], scores[item], rank, len(seen), blend)
        points[item] = min(max(_total(told) / ceiling, 0.0), 1.0)
        share = 1 / ceiling if points[item] > 0 else 0.0  # a sum below 0 counts as 0
        addends[item] = {name: value * share for name, value in told.items()}
    seen.sort(key=lambda item: -points[item])
    floor = min(points.values(), default=1.0)
    below = [score * floor for score in fused.points]
    rest = [item for item in items if item not in scores]
    return [*seen, *rest], [points.get(item, score) for item, score in enumerate(below)], addends
