"""Convex combination of normalised scores over whole lists."""

from collections.abc import Sequence
from math import fsum
from operator import add


def convex_fusion(
    scores: Sequence[Sequence[float | None]], weights: Sequence[float]
) -> list[float]:
    """Return Σ weight · score / Σ weight of each item, in [0, 1] where the scores are.

    `scores[list][item]` are normalised (normalize_scores); None, where the list lacks the item,
    counts as 0. Weights that are all 0 give 0. Sums are rounded once, so the order of the lists
    changes no bit. Bruch, Gai and Ingber 2023.
    """
    total = fsum(weights)
    if total == 0:
        return [0.0] * (len(scores[0]) if scores else 0)
    terms = [
        [0.0 if score is None else weight * score for score in of_list]
        for of_list, weight in zip(scores, weights, strict=True)
    ]
    sums = map(add, *terms) if len(terms) == 2 else map(fsum, zip(*terms, strict=True))
    return [value / total for value in sums]
