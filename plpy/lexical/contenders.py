"""The rows that may be among the best, by sums in single precision."""

from collections.abc import Callable, Sequence

import numpy as np

from pgblend.plpy.lexical.postings import Postings
from pgblend.plpy.lexical.rows import Floats, Integers

MANY = 8
PROBE_SHARE = 16
SMALL_TERM = 4096
FEW_BLOCKS, MANY_BLOCKS = 512, 4096
ROUNDING = 1e-5


def candidate_rows(
    postings: Sequence[Postings],
    weights: Sequence[float],
    sums: Floats,
    depth: int,
    drift: float,
    check: Callable[[], None],
) -> Integers:
    """Return the rows, ascending, whose sum of weight · impact may be among the `depth` largest.

    The impacts of `postings`, those of the terms, may be a share of `drift` off; `weights` are the
    terms'. Ties and rounding are included, rows with a sum of 0 are not. `sums` is an array of
    zeros, one a row, and has zeros again afterwards. `check` is called between steps.
    """
    slack = 1 - ROUNDING - 2 * drift
    if sum(len(of_term.rows) for of_term in postings) * MANY < len(sums):
        return gathered(postings, weights, sums, depth, slack)
    rows = added_up(postings, weights, sums, depth, slack, check)
    places = largest(sums if rows is None else sums[rows], depth, slack)
    sums.fill(0)
    check()
    return places if rows is None else rows[places]


def gathered(
    postings: Sequence[Postings],
    weights: Sequence[float],
    sums: Floats,
    depth: int,
    slack: float,
) -> Integers:
    """Add up at the rows that occur: nothing here takes time by row of the view."""
    of_terms = [of_term.rows.astype(np.intp, copy=False) for of_term in postings]
    for rows, of_term, weight in zip(of_terms, postings, weights, strict=True):
        add(sums, rows, of_term.impacts * np.float32(weight))
    reached = []
    for rows in of_terms:  # a row's sum is taken once, with the first of its terms
        reached.append(sums.take(rows, mode="clip"))
        sums[rows] = 0
    places = largest(np.concatenate(reached), depth, slack)
    return np.sort(np.concatenate(of_terms)[places])


def largest(values: Floats, count: int, slack: float) -> Integers:
    """Return the places of the values that reach a share of `slack` of the `count` largest.

    Ascending; values of 0 are left out.
    """
    threshold = np.float32(kth_of_blocks(values, count) * slack)
    places = np.flatnonzero(values >= threshold if threshold > 0 else values > 0)
    if len(places) > count:
        reached = values[places]
        cut = np.partition(reached, len(reached) - count)[len(reached) - count]
        places = places[reached >= cut * np.float32(slack)]
    return places


def kth_of_blocks(values: Floats, k: int) -> float:
    """Return a lower bound of the k-th largest value: the k-th largest of the maxima of blocks.

    Of B blocks, block i has the places i, i + B, i + 2 · B… Neighbours, which are often alike, are
    never in the same one.
    """
    blocks = FEW_BLOCKS if k * 4 <= FEW_BLOCKS else MANY_BLOCKS
    height = len(values) // blocks
    if k > blocks or height < 2:
        return 0.0
    maxima = values[: height * blocks].reshape(height, blocks).max(axis=0)
    return float(np.partition(maxima, blocks - k)[blocks - k])


def added_up(
    postings: Sequence[Postings],
    weights: Sequence[float],
    sums: Floats,
    depth: int,
    slack: float,
    check: Callable[[], None],
) -> Integers | None:
    """Add up in `sums`, rarest terms first; return the rows that count, None for all.

    Once no row without one of the first terms can reach the best `depth`, the common ones are only
    looked up for the rows that still can.
    """
    candidates: Integers | None = None
    by_count = sorted(range(len(weights)), key=lambda term: len(postings[term].rows))
    for place, term in enumerate(by_count):
        rows, _, impacts = postings[term]
        later = sum(weights[other] for other in by_count[place:])
        if (
            candidates is None
            and len(rows) > max(SMALL_TERM, len(sums) // PROBE_SHARE)
            and later < sum(weights[other] for other in by_count[:place])
        ):
            check()
            candidates = contenders(sums, depth, slack, later, len(rows))
        weight = np.float32(weights[term])
        if candidates is None:
            add(sums, rows.astype(np.intp, copy=False), impacts * weight)
        elif len(rows):
            places = rows.searchsorted(candidates.astype(rows.dtype, copy=False))
            found = rows.take(places, mode="clip") == candidates
            sums[candidates[found]] += impacts[places[found]] * weight
    return candidates


def add(sums: Floats, rows: Integers, values: Floats) -> None:
    """Add values, which it changes, at different rows: faster than `sums[rows] += values`."""
    values += sums.take(rows, mode="clip")
    sums[rows] = values


def contenders(sums: Floats, depth: int, slack: float, bound: float, count: int) -> Integers | None:
    """Return the rows that can be among the best `depth` when at most `bound` is added to each.

    None where rows with a sum of 0 could be among them. None, too, where they are so many that to
    look them up takes longer than to add `count` postings.
    """
    threshold = kth_of_blocks(sums, depth) * slack - bound
    if threshold <= 0:
        return None
    rows = np.flatnonzero(sums >= np.float32(threshold))
    return rows if len(rows) * PROBE_SHARE < count else None
