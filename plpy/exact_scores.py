"""BM25 of some rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def exact_scores(
    postings: Mapping[str, Any],
    frequencies: Any,
    idf: Sequence[float],
    k1: float,
    norms: Any,
    rows: Any,
) -> Any:
    """Return Σ idf · tf · (k1 + 1) / (tf + norm) of each of `rows`, in double precision.

    Summed in the order of the terms. `postings` has `rows`, ascending within a term, `codes`, which
    are places in `frequencies`, and `starts` of the terms; `norms` are those of `rows`:
    k1 · (1 - b + b · length / average length).
    """
    starts = postings["starts"]
    scores = np.zeros(len(rows))
    if starts[-1] == 0:
        return scores
    places = np.empty((len(idf), len(rows)), np.intp)
    for term, start in enumerate(starts[:-1]):
        places[term] = postings["rows"][start : starts[term + 1]].searchsorted(rows)
    places += np.array(starts[:-1])[:, None]
    found = postings["rows"].take(places, mode="clip") == rows
    found &= places < np.array(starts[1:])[:, None]
    tf = frequencies[postings["codes"].take(places, mode="clip")] * found
    parts = np.array(idf)[:, None] * tf
    parts *= k1 + 1
    np.divide(parts, tf + norms, out=parts, where=tf > 0)
    for part in parts:
        scores += part
    return scores
