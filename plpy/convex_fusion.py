"""Convex combination of normalised scores over whole lists."""

from collections.abc import Sequence
from math import fsum

from pgblend.plpy.weighted_sums import weighted_sums


def convex_fusion(scores: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """Return Σ weight · score / Σ weight of each item, in [0, 1] where the scores are.

    `scores[list][item]` are normalised (normalize_scores), 0 where the list lacks the item. Weights
    that are all 0 give 0. Bruch, Gai and Ingber 2023.
    """
    total = fsum(weights)
    if total == 0:
        return [0.0] * (len(scores[0]) if scores else 0)
    return [value / total for value in weighted_sums(scores, weights)]
