"""The order that fused and rerank scores give together."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.blend_addends import blend_addends
from pgblend.plpy.blend_ceiling import blend_ceiling
from pgblend.plpy.blend_scores import blend_scores
from pgblend.plpy.scale_fused import scale_fused


def blended_order(
    items: Sequence[int],
    scores: Mapping[int, float],
    fused: Mapping[str, Any],
    blend: Mapping[str, Any],
    scale: str,
) -> tuple[list[int], list[float], dict[int, dict[str, float]]]:
    """Return the items, best first, the scores in [0, 1] of all items, and what those add up.

    `items` are in fused order, `scores` has those that were reranked, `fused` is what fuse_lists
    returns, and `scale` is the setting fused_scale. A rank is the place among the reranked ones.
    What was not reranked stays below, in its order. Of the reranked ones the last gives the addends
    of their scores (blend_addends).
    """
    seen = [item for item in items if item in scores]
    scaled = scale_fused(fused["sums"], fused["attainable"], scale)
    ceiling = blend_ceiling(blend, fused["attainable"] if scale == "raw" else 1.0)
    blended = blend_scores([scaled[item] for item in seen], [scores[item] for item in seen], blend)
    points = {
        item: min(max(score / ceiling, 0.0), 1.0) for item, score in zip(seen, blended, strict=True)
    }
    addends = {}
    for rank, item in enumerate(seen, 1):
        told = blend_addends(scaled[item], scores[item], rank, len(seen), blend)
        share = 1 / ceiling if points[item] > 0 else 0.0  # a sum below 0 counts as 0
        addends[item] = {name: value * share for name, value in told.items()}
    seen.sort(key=lambda item: -points[item])
    floor = min(points.values(), default=1.0)
    below = [score * floor for score in fused["points"]]
    rest = [item for item in items if item not in scores]
    return [*seen, *rest], [points.get(item, score) for item, score in enumerate(below)], addends
