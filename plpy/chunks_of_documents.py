"""The chunks for which documents were found, the best of each document first."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def chunks_of_documents(
    postings: Sequence[tuple[Any, Any]],
    counts: Any,
    field_weights: Sequence[float],
    idf: Sequence[float],
    k1: float,
    documents: Any,
    alive: Any,
    chunk_indexes: Any,
    wanted: Any,
) -> tuple[Any, Any]:
    """Return (rows, places): the live rows that have any term, by document in the order `wanted`.

    A place is one in `wanted`, the documents, best first. Within a document a chunk counts
    Σ idf · tf · (k1 + 1) / (tf + k1): BM25 without lengths, which chunks of one document have much
    alike, over all its words, repeated ones included. Ties by chunk index.
    """
    order = np.full(len(documents), -1)  # there are no more documents than rows
    order[wanted] = np.arange(len(wanted))
    sums = np.zeros(len(documents))
    for (rows, codes), value in zip(postings, idf, strict=True):
        kept = alive[rows] & (order[documents[rows]] >= 0)
        tf = counts[codes[kept]] @ np.array([*field_weights, *field_weights])
        occurs = tf > 0
        sums[rows[kept][occurs]] += value * tf[occurs] * (k1 + 1) / (tf[occurs] + k1)
    found = np.flatnonzero(sums)
    places = order[documents[found]]
    by_place = np.lexsort((chunk_indexes[found], -sums[found], places))
    return found[by_place], places[by_place]
