"""What a perfect match gets from blending."""

from collections.abc import Mapping
from typing import Any


def blend_ceiling(blend: Mapping[str, Any], most_fused: float) -> float:
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
