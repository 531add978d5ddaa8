"""What each list gave to the fused scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.fuse_ranks import fuse_ranks


def fused_parts(
    lists: Sequence[Mapping[str, Any]], fused: Mapping[str, Any], rrf_k: float
) -> tuple[dict[str, tuple[float, list[float]]], list[float]]:
    """Return {arm: (weight, its part of the sum by item)} and the bonus's part, decay counted in.

    `fused` is what fuse_lists returns.
    """
    left = fused["recency"] or [1.0] * len(fused["sums"])
    if fused["normal"] is None:
        parts = [
            fuse_ranks([of_list], [weight], rrf_k)[0]
            for of_list, weight in zip(fused["ranks"], fused["weights"], strict=True)
        ]
    else:
        total = fused.get("total") or sum(fused["weights"]) or 1
        parts = [
            [weight * score / total for score in of_list]
            for of_list, weight in zip(fused["normal"], fused["weights"], strict=True)
        ]

    def decayed(values: Sequence[float]) -> list[float]:
        return [value * share for value, share in zip(values, left, strict=True)]

    return {
        of_list["arm"]: (weight, decayed(part))
        for of_list, weight, part in zip(lists, fused["weights"], parts, strict=True)
    }, decayed(fused["bonus"])
