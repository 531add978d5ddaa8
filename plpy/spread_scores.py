"""Scores of a list made comparable with those of others, and how much the list tells."""

from collections.abc import Sequence
from math import sqrt


def spread_scores(
    scores: Sequence[float], floor: float | None, depth: int
) -> tuple[list[float], float]:
    """Return a list's scores in [0, 1], in their order, and its spread.

    A score's place between the list's least and best is its normal score. A list that ends before
    `depth` has all that it could find: what it lacks has the score `floor` (BM25: 0), which is then
    the least; None stands for a list in which nothing lacks a score (cosines).

    The spread, to the power 1.25, is in [0, 1]: how far the best stands above the 25th, as a share
    of the best where there is a floor, since BM25 has no unit, and of the 25th's distance,
    1 - cosine, where there is none. A list's weight is multiplied by it: an arm that takes its
    candidates for nearly alike cannot tell which is better, and then counts less. Multiplying all
    BM25 scores or all distances by one number changes nothing, so models whose cosines lie close
    together count as others do.
    """
    falling = sorted(scores, reverse=True) or [0.0]
    least = falling[-1]
    if floor is not None and len(falling) < depth:
        least = min(least, floor)
    width = falling[0] - least
    normal = [(score - least) / width for score in scores] if width > 0 else [1.0] * len(scores)
    return normal, _spread(falling, floor, depth)


def _spread(falling: Sequence[float], floor: float | None, depth: int) -> float:
    """Return the spread of scores in falling order, by roots, which are the same everywhere."""
    place = min(25, depth)
    best = falling[0]
    other = falling[min(place, len(falling)) - 1]
    if floor is not None and len(falling) < place:
        other = min(other, floor)
    width = best - other
    if width <= 0:
        return 0.0
    share = width / max(1 - other if floor is None else abs(best), width)
    return share * sqrt(sqrt(share))
