"""BM25 of whole documents, from the postings of their chunks."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def score_documents(
    postings: Sequence[tuple[Any, Any]],
    counts: Any,
    field_weights: Sequence[float],
    idf: Sequence[float],
    k1: float,
    norms: Any,
    documents: Any,
    alive: Any,
    depth: int,
    check: Callable[[], None] = lambda: None,
) -> tuple[Any, Any]:
    """Return (places, scores) of all documents that reach the score of the best `depth`.

    `postings` has of each term the rows and codes, which are places in `counts`: occurrences in
    title, heading and body, the chunk's own (the first three columns) and those that repeat the
    chunk before. A document's frequency of a term is the weighted sum of its live chunks' own ones,
    summed as whole numbers, so that it does not matter which rows they are in. `norms` has for each
    document k1 · (1 - b + b · length / average length); `documents` is the place of each row's
    document, `alive` whether a row is there.
    score = Σ idf · tf · (k1 + 1) / (tf + norm), in the order of the terms. Ascending places.
    """
    scores = np.zeros(len(norms))
    for (rows, codes), value in zip(postings, idf, strict=True):
        check()
        live = alive[rows]
        places, found = documents[rows[live]], counts[codes[live]]
        frequency = np.zeros(len(norms))
        for field, weight in enumerate(field_weights):
            if found[:, field].any():
                frequency += weight * np.bincount(places, found[:, field], len(norms))
        has = np.flatnonzero(frequency)
        tf = frequency[has]
        scores[has] += value * tf * (k1 + 1) / (tf + norms[has])
    reached = np.flatnonzero(scores)
    if len(reached) > depth:
        cut = np.partition(scores[reached], len(reached) - depth)[len(reached) - depth]
        reached = reached[scores[reached] >= cut]
    return reached, scores[reached]
