"""Weighted reciprocal rank fusion over whole lists."""

from collections.abc import Sequence
from functools import reduce
from operator import add


def fuse_ranks(
    ranks: Sequence[Sequence[int | None]], weights: Sequence[float], k: float
) -> tuple[list[float], float]:
    """Return Σ weight / (k + rank) of each item, and what an item first in every list would get.

    `ranks[list][item]` starts at 1; None where the list lacks the item, which adds nothing. Terms
    are added from the smallest, so the order of the lists changes no bit and mirrored ranks tie
    (Python's own `sum` rounds differently from 3.12 on). Cormack, Clarke and Büttcher 2009.
    """
    terms = [
        [0.0 if rank is None else weight / (k + rank) for rank in of_list]
        for of_list, weight in zip(ranks, weights, strict=True)
    ]
    attainable = reduce(add, sorted(weight / (k + 1) for weight in weights), 0.0)
    if len(terms) == 2:
        return list(map(add, *terms)), attainable
    return [reduce(add, sorted(row)) for row in zip(*terms, strict=True)], attainable
