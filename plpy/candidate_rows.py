"""The rows that may be among the best, by sums in single precision."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

MANY = 8
PROBE_SHARE = 16
SMALL_TERM = 4096
FEW_BLOCKS, MANY_BLOCKS = 512, 4096
ROUNDING = 1e-5


def candidate_rows(
    postings: Sequence[tuple[Any, Any]],
    weights: Sequence[float],
    sums: Any,
    depth: int,
    drift: float,
    check: Callable[[], None],
) -> Any:
    """Return the rows, ascending, whose sum of weight · impact may be among the `depth` largest.

    `postings` has of each term the rows, ascending, and impacts, which may be a share of `drift`
    off. Ties and rounding are included, rows with a sum of 0 are not. `sums` is an array of zeros,
    one a row, and has zeros again afterwards. `check` is called between steps.
    """
    slack = 1 - ROUNDING - 2 * drift
    by_count = sorted(range(len(postings)), key=lambda term: len(postings[term][0]))
    by_count = [term for term in by_count if len(postings[term][0])]
    if sum(len(rows) for rows, _ in postings) * MANY < len(sums):
        rows, reached = gathered(postings, weights, sums, by_count)
        check()
        best = largest(reached, depth, slack)
        return np.sort(rows[best])
    rows = added_up(postings, weights, sums, by_count, depth, slack, check)
    reached = sums if rows is None else sums[rows]
    best = largest(reached, depth, slack)
    sums.fill(0)
    check()
    return best if rows is None else rows[best]


def largest(values: Any, count: int, slack: float) -> Any:
    """Return the places of the values that reach a share of `slack` of the `count` largest.

    Ascending; values of 0 are left out.
    """
    threshold = np.float32(kth_of_blocks(values, count) * slack)
    places = np.flatnonzero(values >= threshold if threshold > 0 else values > 0)
    reached = values[places]
    if len(reached) > count:
        cut = np.partition(reached, len(reached) - count)[len(reached) - count]
        places = places[reached >= cut * np.float32(slack)]
    return places


def kth_of_blocks(values: Any, k: int) -> float:
    """Return a lower bound of the k-th largest value: the k-th largest of the maxima of blocks.

    Of B blocks, block i has the places i, i + B, i + 2 · B…, so that neighbours, which are often
    alike, are not in the same one.
    """
    blocks = FEW_BLOCKS if k * 4 <= FEW_BLOCKS else MANY_BLOCKS
    height = len(values) // blocks
    if k > blocks or height < 2:
        return 0.0
    maxima = values[: height * blocks].reshape(height, blocks).max(axis=0)
    return float(np.partition(maxima, blocks - k)[blocks - k])


def gathered(
    postings: Sequence[tuple[Any, Any]],
    weights: Sequence[float],
    sums: Any,
    by_count: Sequence[int],
) -> tuple[Any, Any]:
    """Add up at the rows that occur and collect them: nothing here takes time by row of the view.

    A row is collected with the largest of its terms; with the others its sum is 0 again.
    """
    for term in by_count[:-1]:
        rows, impacts = postings[term]
        sums[rows] += impacts * np.float32(weights[term])
    all_rows, all_sums = [np.empty(0, np.intp)], [np.empty(0, np.float32)]
    for place, term in enumerate(reversed(by_count)):
        rows, impacts = postings[term]
        if len(by_count) == 1:
            reached = impacts * np.float32(weights[term])
        else:
            reached = sums[rows]
            sums[rows] = 0
            if place == 0:
                reached += impacts * np.float32(weights[term])
        all_rows.append(rows)
        all_sums.append(reached)
    return np.concatenate(all_rows), np.concatenate(all_sums)


def added_up(
    postings: Sequence[tuple[Any, Any]],
    weights: Sequence[float],
    sums: Any,
    by_count: Sequence[int],
    depth: int,
    slack: float,
    check: Callable[[], None],
) -> Any | None:
    """Add up in `sums`, rarest terms first; return the rows that count, None for all.

    Once no row without one of the first terms can reach the best `depth`, the common ones are only
    looked up for the rows that still can.
    """
    candidates = None
    for place, term in enumerate(by_count):
        rows, impacts = postings[term]
        if candidates is None and len(rows) > max(SMALL_TERM, len(sums) // PROBE_SHARE):
            check()
            bound = sum(weights[later] for later in by_count[place:])
            candidates = contenders(sums, depth, slack, bound, len(rows))
        if candidates is not None:
            places = np.searchsorted(rows, candidates)
            found = rows.take(places, mode="clip") == candidates
            rows, impacts = candidates[found], impacts[places[found]]
        sums[rows] += impacts * np.float32(weights[term])
    return candidates


def contenders(sums: Any, depth: int, slack: float, bound: float, count: int) -> Any | None:
    """Return the rows that can be among the best `depth` when at most `bound` is added to each.

    None where that could be rows with a sum of 0, or so many that to look them up takes longer than
    to add `count` postings.
    """
    threshold = kth_of_blocks(sums, depth) * slack - bound
    if threshold <= 0:
        return None
    rows = np.flatnonzero(sums >= np.float32(threshold))
    return rows if len(rows) * PROBE_SHARE < count else None
