"""The addends of a blended score."""

from collections.abc import Mapping
from typing import Any


def blend_addends(
    fused: float, rerank: float, rank: int, n: int, blend: Mapping[str, Any]
) -> dict[str, float]:
    """Return {fused, rerank, position}, which add up to the blended score (blend_scores).

    `blend` is the setting, `rank` the fused rank among the `n` items that were reranked.
    """
    weights = blend
    if blend["kind"] == "tiers":
        reached = (t for t in blend["tiers"] if t.get("max_rank") is None or rank <= t["max_rank"])
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
