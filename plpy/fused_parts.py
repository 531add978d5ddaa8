"""What each list, and what else, gave to the fused scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.fuse_ranks import fuse_ranks


def fused_parts(
    lists: Sequence[Mapping[str, Any]], fused: Mapping[str, Any], rrf_k: float
) -> dict[str, list[float]]:
    """Return {name: its part of the sum by item}, which add up to the sums.

    `fused` is what fuse_lists returns. Names are the lists' arms, and where they apply `feedback`
    (what the moved vector gave over the query's own), `bonus`, and `recency` (what age took, so
    none above 0).
    """
    if fused["normal"] is None:
        columns = [
            fuse_ranks([of_list], [weight], rrf_k)[0]
            for of_list, weight in zip(fused["ranks"], fused["weights"], strict=True)
        ]
    else:
        total = fused.get("total") or sum(fused["weights"]) or 1
        shares = [weight / total for weight in fused["weights"]]
        columns = [
            [share * score for score in of_list]
            for of_list, share in zip(fused["normal"], shares, strict=True)
        ]
    parts = {of_list["arm"]: part for of_list, part in zip(lists, columns, strict=True)}
    if fused["unmoved"] is not None:
        place = next(number for number, one in enumerate(lists) if one["arm"] == "vector")
        own = [shares[place] * score for score in fused["unmoved"]]
        parts["feedback"] = [
            moved - before for moved, before in zip(parts["vector"], own, strict=True)
        ]
        parts["vector"] = own
    if any(fused["bonus"]):
        parts["bonus"] = list(fused["bonus"])
    if fused["recency"] is not None:
        parts["recency"] = [
            (left - 1) * sum(row)
            for left, row in zip(fused["recency"], zip(*parts.values(), strict=True), strict=True)
        ]
    return parts
