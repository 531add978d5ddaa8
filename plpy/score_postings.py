"""BM25 over postings."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

BLOCKS = 2048
PROBE_SHARE = 16
SMALL_TERM = 4096
SPARSE = 64
ROUNDING = 1 - 1e-5  # the first pass adds in single precision


def score_postings(
    postings: Sequence[tuple[Any, Any]],
    frequencies: Any,
    idf: Sequence[float],
    k1: float,
    norms: Any,
    exact_norms: Callable[[Any], Any],
    depth: int,
    check: Callable[[], None] = lambda: None,
) -> tuple[Any, Any]:
    """Return (rows, scores) of all rows that reach the score of the best `depth`, rows ascending.

    `postings` has of each term the rows, ascending, and codes, which are places in `frequencies`.
    score = Σ idf · tf · (k1 + 1) / (tf + norm), summed in the order of the terms in double
    precision; a row's norm is k1 · (1 - b + b · length / average length), and infinite for a row to
    leave out. `norms` has them in single precision, `exact_norms` gives those of some rows in
    double.

    Terms are added up rarest first, in single precision; once no row without one of them can reach
    the best `depth`, the common ones are only looked up for the rows that still can. `check` is
    called between steps.
    """
    if not frequencies.all():  # words that stand only in fields of weight 0
        kept = [frequencies[codes] > 0 for _, codes in postings]
        postings = [(r[k], c[k]) for (r, c), k in zip(postings, kept, strict=True)]
    weights = [value * (k1 + 1) for value in idf]
    single = frequencies.astype(np.float32)
    if sum(len(rows) for rows, _ in postings) * SPARSE < len(norms):
        touched, compact = without_gaps(postings)
        selected = touched[first_pass(compact, single, weights, norms[touched], depth, check)]
    else:
        selected = first_pass(postings, single, weights, norms, depth, check)
    scores = np.zeros(len(selected))
    norm = exact_norms(selected)
    for (rows, codes), value in zip(postings, idf, strict=True):
        places, found = probe(rows, selected)
        tf = frequencies[codes[places]]
        scores[found] += value * tf * (k1 + 1) / (tf + norm[found])
    return selected, scores


def without_gaps(postings: Sequence[tuple[Any, Any]]) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return the rows that occur, and the postings with places among them for rows."""
    touched, places = np.unique(
        np.concatenate([rows for rows, _ in postings] or [np.empty(0, np.intp)]),
        return_inverse=True,
    )
    ends = np.cumsum([len(rows) for rows, _ in postings])[:-1]
    codes = [codes for _, codes in postings]
    return touched, list(zip(np.split(places, ends), codes, strict=False))


def first_pass(
    postings: Sequence[tuple[Any, Any]],
    frequencies: Any,
    weights: Sequence[float],
    norms: Any,
    depth: int,
    check: Callable[[], None],
) -> Any:
    """Return the rows that may be among the best `depth`, by sums in single precision."""
    sums = np.zeros(len(norms), np.float32)
    candidates = None
    by_count = sorted(range(len(postings)), key=lambda term: len(postings[term][0]))
    for place, term in enumerate(by_count):
        rows, codes = postings[term]
        if candidates is None and len(rows) > max(SMALL_TERM, len(norms) // PROBE_SHARE):
            check()
            bound = sum(weights[later] for later in by_count[place:])
            candidates = contenders(sums, depth, bound, len(rows))
        if candidates is not None:
            places, found = probe(rows, candidates)
            rows, codes = candidates[found], codes[places]
        tf = frequencies[codes]
        sums[rows] += tf / (tf + norms[rows]) * np.float32(weights[term])
    check()
    return select(sums, depth, candidates)


def contenders(sums: Any, depth: int, bound: float, count: int) -> Any | None:
    """Return the rows that can be among the best `depth` when at most `bound` is added to each.

    None where that could be rows with a sum of 0, or so many that to look them up takes longer than
    to add `count` postings.
    """
    threshold = kth_of_blocks(sums, depth) - bound
    if threshold <= 0:
        return None
    rows = np.flatnonzero(sums >= np.float32(threshold))
    return rows if len(rows) * PROBE_SHARE < count else None


def probe(rows: Any, wanted: Any) -> tuple[Any, Any]:
    """Return where in sorted rows the wanted occur, and which of the wanted those are (a mask)."""
    places = np.searchsorted(rows, wanted)
    found = places < len(rows)
    found[found] = rows[places[found]] == wanted[found]
    return places[found], found


def kth_of_blocks(sums: Any, k: int) -> float:
    """Return a lower bound of the k-th largest sum: the k-th largest of the maxima of blocks.

    Block i has the rows i, i + BLOCKS, i + 2 · BLOCKS…, so that neighbours, which are often alike,
    are not in the same one.
    """
    height = len(sums) // BLOCKS
    if k > BLOCKS or height == 0:
        return 0.0
    maxima = sums[: height * BLOCKS].reshape(height, BLOCKS).max(axis=0)
    return float(np.partition(maxima, BLOCKS - k)[BLOCKS - k]) * ROUNDING


def select(sums: Any, depth: int, candidates: Any | None) -> Any:
    """Return the rows whose sum may be among the `depth` largest, ties and rounding included."""
    if candidates is None:
        threshold = np.float32(kth_of_blocks(sums, depth))
        candidates = np.flatnonzero(sums >= threshold if threshold > 0 else sums > 0)
    reached = sums[candidates]
    if len(reached) > depth:
        cut = np.partition(reached, len(reached) - depth)[len(reached) - depth]
        candidates = candidates[reached >= cut * np.float32(ROUNDING)]
    return candidates
