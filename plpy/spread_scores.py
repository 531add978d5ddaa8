"""Scores of several lists made comparable, and how much each list tells."""

from collections.abc import Sequence


def spread_scores(
    lists: Sequence[Sequence[float | None]],
    weights: Sequence[float],
    floors: Sequence[float | None],
    depth: int,
) -> tuple[list[list[float | None]], list[float]]:
    """Return each list's scores in [0, 1], None where it lacks an item, and the lists' weights.

    A score's place between the list's least and best is its normal score. A list that ends before
    `depth` has all that it could find: what it lacks has the score `floors` says (BM25: 0), which
    is then the least; None stands for a list in which nothing lacks a score (cosines).

    A list's weight is multiplied by its spread: best - least for cosines, whose scale is the same
    for all queries, and (best - least) / best where there is a floor, since BM25 has no unit. An
    arm that takes its candidates for nearly alike cannot tell which is better, and then counts
    less. Where no list has a spread the weights stay. Convex fusion takes both; adding a constant
    to all cosines, or multiplying all BM25 scores by one, changes nothing.
    """
    normal: list[list[float | None]] = []
    spread_weights = []
    for scores, weight, floor in zip(lists, weights, floors, strict=True):
        present = [score for score in scores if score is not None]
        best = max(present, default=0.0)
        least = min(present, default=0.0)
        if floor is not None and len(present) < depth:
            least = min(least, floor)
        width = best - least
        spread = width if floor is None or width <= 0 else width / max(abs(best), width)
        if width > 0:
            normal.append([None if score is None else (score - least) / width for score in scores])
        else:
            normal.append([None if score is None else 1.0 for score in scores])
        spread_weights.append(weight * spread)
    if not any(spread_weights):
        return normal, list(weights)
    return normal, spread_weights
