"""The scores of a search's lists on one scale."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.arm_normalization import arm_normalization
from pgblend.plpy.normalize_scores import normalize_scores
from pgblend.plpy.score_range import score_range
from pgblend.plpy.spread_scores import spread_scores

Scores = Sequence[Sequence[float | None]]


def comparable_scores(
    lists: Sequence[Mapping[str, Any]],
    scores: Scores,
    normalization: Mapping[str, Any],
    depth: int,
) -> tuple[Scores, list[float]]:
    """Return scores[list][item] in [0, 1], None where a list lacks an item, and lists' weights.

    `normalization` is the setting; by spread, weights depend on the scores (spread_scores) and
    `depth` is how many candidates each arm was asked for.
    """
    weights = [of_list["weight"] for of_list in lists]
    if normalization["method"] == "spread":
        floors = [None if of_list["by_vector"] else 0.0 for of_list in lists]
        return spread_scores(scores, weights, floors, depth)
    return [
        normalize_scores(
            of_scores, *arm_normalization(normalization, of_list["kind"], *score_range(of_list))
        )
        for of_list, of_scores in zip(lists, scores, strict=True)
    ], weights
