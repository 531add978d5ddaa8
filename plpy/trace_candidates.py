"""How candidates came to their places."""

from collections.abc import Mapping, Sequence
from typing import Any


def trace_candidates(
    items: Sequence[int],
    arms: Sequence[Mapping[str, dict[str, Any]]],
    parts: Mapping[str, tuple[float, Sequence[float | None]]],
    bonus: Sequence[float],
    attainable: float,
    places: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """Return {arms, places} of each item, and its bonus where there is one.

    `arms` are those of the items (candidate_arms), to which the arm's weight and contribution to
    the score are added: of `parts`, {arm: (weight, part of the fused sum by item)}, over
    `attainable`; what is no arm (rerank) gets none. `places` has the items of each stage in their
    order; one that a stage left out has no place there.
    """
    place_of = {
        stage: {item: place for place, item in enumerate(order, 1)}
        for stage, order in places.items()
    }
    return [
        {
            "arms": {
                arm: {**said, **_part_of(parts, arm, item, attainable)}
                for arm, said in of_item.items()
            },
            **({"bonus": bonus[item] / attainable} if bonus[item] else {}),
            "places": {stage: place[item] for stage, place in place_of.items() if item in place},
        }
        for item, of_item in zip(items, arms, strict=True)
    ]


def _part_of(
    parts: Mapping[str, tuple[float, Sequence[float | None]]],
    arm: str,
    item: int,
    attainable: float,
) -> dict[str, float]:
    if arm not in parts:
        return {}
    weight, part = parts[arm]
    return {"weight": weight, "contribution": (part[item] or 0.0) / attainable}
