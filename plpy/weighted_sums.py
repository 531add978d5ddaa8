"""Weighted scores added up over whole lists."""

from collections.abc import Sequence
from math import fsum
from operator import add


def weighted_sums(scores: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """Return Σ weight · score of each item; `scores[list][item]`.

    Sums are rounded once, so the order of the lists changes no bit.
    """
    terms = [
        [weight * score for score in of_list]
        for of_list, weight in zip(scores, weights, strict=True)
    ]
    return list(map(add, *terms) if len(terms) == 2 else map(fsum, zip(*terms, strict=True)))
