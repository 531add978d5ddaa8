"""The rows that may be among the best, by sums in single precision."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from pgblend.plpy.lexical.postings import Postings
from pgblend.plpy.lexical.rows import Floats, Integers

MANY = 8
PROBE_SHARE = 16
SMALL_TERM = 4096
FEW_BLOCKS, MANY_BLOCKS = 512, 4096
ROUNDING = 1e-5
HAS_FAST_ADD = np.lib.NumpyVersion(np.__version__) >= "1.25.0"


def candidate_rows(
    postings: Postings,
    weights: Sequence[float],
    sums: Floats,
    depth: int,
    drift: float,
    check: Callable[[], None],
) -> Integers:
    """Return the rows, ascending, whose sum of weight · impact may be among the `depth` largest.

    The impacts of `postings` may be a share of `drift` off; `weights` are those of the terms. Ties
    and rounding are included, rows with a sum of 0 are not. `sums` is an array of zeros, one a row,
    and has zeros again afterwards. `check` is called between steps.
    """
    slack = 1 - ROUNDING - 2 * drift
    counts = np.diff(postings.starts)
    values = postings.impacts * np.repeat(np.array(weights, np.float32), counts)
    if len(values) * MANY < len(sums):
        return gathered(postings, values, sums, depth, slack)
    rows = added_up(postings, values, weights, sums, depth, slack, check)
    places = largest(sums if rows is None else sums[rows], depth, slack)
    sums.fill(0)
    check()
    return places if rows is None else rows[places]


def gathered(
    postings: Postings, values: Floats, sums: Floats, depth: int, slack: float
) -> Integers:
    """Add up at the rows that occur: nothing here takes time by row of the view."""
    rows, starts = postings.rows, postings.starts
    if len(starts) == 2:
        return rows[largest(values, depth, slack)]
    add_up(sums, rows, values, starts)
    reached = sums[rows]
    sums[rows] = 0
    # A row is there once for each of its terms, so this many places have the best rows.
    places = largest(reached, depth * (len(starts) - 1), slack)
    distinct, firsts = np.unique(rows[places], return_index=True)
    return distinct[largest(reached[places[firsts]], depth, slack)]


def add_up(sums: Floats, rows: Integers, values: Floats, starts: Sequence[int]) -> None:
    """Add the values to the sums of their rows; a row occurs once between two starts."""
    if HAS_FAST_ADD:
        np.add.at(sums, rows, values)
        return
    for start, end in pairwise(starts):
        sums[rows[start:end]] += values[start:end]


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
    postings: Postings,
    values: Floats,
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
    starts = postings.starts
    candidates: Integers | None = None
    by_count = sorted(range(len(weights)), key=lambda term: starts[term + 1] - starts[term])
    for place, term in enumerate(by_count):
        span = slice(starts[term], starts[term + 1])
        rows, of_term = postings.rows[span], values[span]
        later = sum(weights[other] for other in by_count[place:])
        if (
            candidates is None
            and len(rows) > max(SMALL_TERM, len(sums) // PROBE_SHARE)
            and later < sum(weights[other] for other in by_count[:place])
        ):
            check()
            candidates = contenders(sums, depth, slack, later, len(rows))
        if candidates is None:
            add_up(sums, rows, of_term, [0, len(rows)])
        elif len(rows):
            places = np.searchsorted(rows, candidates)
            found = rows.take(places, mode="clip") == candidates
            sums[candidates[found]] += of_term[places[found]]
    return candidates


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
