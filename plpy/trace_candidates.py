"""How candidates came to their places."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.score_parts import score_parts


def trace_candidates(
    items: Sequence[int],
    arms: Sequence[Mapping[str, dict[str, Any]]],
    weights: Mapping[str, float],
    parts: Mapping[str, Sequence[float]],
    points: tuple[Sequence[float], Sequence[float]],
    addends: Mapping[int, Mapping[str, float]],
    places: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """Return {arms, parts, scores, places} of each item.

    `arms` are those of the items (candidate_arms), to which their lists' `weights` are added.
    `parts` of the score come from those of the fused sum by item (fused_parts), or what was
    reranked from its `addends` (blend_addends); they add up to it. `points` are the scores after
    fusion and at the end, of which `scores` are told. `places` has the items of each stage in their
    order; one that a stage left out has no place there.
    """
    place_of = {
        stage: {item: place for place, item in enumerate(order, 1)}
        for stage, order in places.items()
    }
    fused, final = points
    return [
        {
            "arms": {
                arm: {**said, **({"weight": weights[arm]} if arm in weights else {})}
                for arm, said in of_item.items()
            },
            "parts": score_parts(
                {name: part[item] for name, part in parts.items()},
                addends.get(item, {"fused": final[item]}),
            ),
            "scores": {"fuse": fused[item], **({"blend": final[item]} if addends else {})},
            "places": {stage: place[item] for stage, place in place_of.items() if item in place},
        }
        for item, of_item in zip(items, arms, strict=True)
    ]
