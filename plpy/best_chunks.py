"""The best rows of a search as chunks, in order."""

from typing import Any

import numpy as np


def best_chunks(
    view: dict[str, Any], pending: dict[str, Any] | None, rows: Any, scores: Any, depth: int
) -> tuple[list[int], list[int], list[int], list[float]]:
    """Return chunk ids, document ids, chunk indexes and scores of the best `depth` rows.

    Best first; ties by (document id, chunk index). Rows after the view's are pending chunks.
    """
    if len(rows) > depth:  # ties at the cut are few: sort no more than they
        cut = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        rows, scores = rows[scores >= cut], scores[scores >= cut]
    sealed = rows < len(view["chunk_ids"])
    keys = []
    for name in ("chunk_ids", "document_ids", "chunk_indexes"):
        values = np.empty(len(rows), np.int64)
        values[sealed] = view[name][rows[sealed]]
        if pending is not None:
            values[~sealed] = pending[name][rows[~sealed] - len(view["chunk_ids"])]
        keys.append(values)
    chunk_ids, document_ids, chunk_indexes = keys
    order = np.lexsort((chunk_indexes, document_ids, -scores))[:depth]
    return (
        chunk_ids[order].tolist(),
        document_ids[order].tolist(),
        chunk_indexes[order].tolist(),
        scores[order].tolist(),
    )
