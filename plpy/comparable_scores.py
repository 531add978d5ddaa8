"""The scores of one of a search's lists on a scale that all lists share."""

from collections.abc import Mapping
from typing import Any

from pgblend.plpy.arm_normalization import arm_normalization
from pgblend.plpy.normalize_scores import normalize_scores
from pgblend.plpy.score_range import score_range
from pgblend.plpy.spread_scores import spread_scores


def comparable_scores(
    of_list: Mapping[str, Any], normalization: Mapping[str, Any], depth: int
) -> tuple[list[float], float]:
    """Return the list's scores in [0, 1], in their order, and a factor for its weight.

    `normalization` is the setting; by spread, the factor is what spread_scores says and `depth` is
    how many candidates each arm was asked for; else it is 1.
    """
    scores = of_list["scores"]
    if normalization["method"] == "spread":
        return spread_scores(scores, None if of_list["by_vector"] else 0.0, depth)
    method = arm_normalization(normalization, of_list["kind"], *score_range(of_list))
    normal: list[Any] = normalize_scores(scores, *method)
    return normal, 1.0
