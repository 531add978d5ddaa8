"""BM25 of some rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def exact_scores(
    postings: Sequence[tuple[Any, Any]],
    frequencies: Any,
    idf: Sequence[float],
    k1: float,
    norms: Any,
    rows: Any,
) -> Any:
    """Return Σ idf · tf · (k1 + 1) / (tf + norm) of each of `rows`, in double precision.

    Summed in the order of the terms. `postings` has of each term the rows, ascending, and codes,
    which are places in `frequencies`; `norms` are those of `rows`: k1 · (1 - b + b · length /
    average length).
    """
    scores = np.zeros(len(rows))
    for (term_rows, codes), value in zip(postings, idf, strict=True):
        if len(term_rows):
            places = np.searchsorted(term_rows, rows)
            tf = frequencies[codes.take(places, mode="clip")]
            tf[term_rows.take(places, mode="clip") != rows] = 0
            scores += np.divide(value * tf * (k1 + 1), tf + norms, out=tf, where=tf > 0)
    return scores
