"""The best rows of a search as chunks, in order."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def best_chunks(
    found: Sequence[tuple[dict[str, Any], Any, Any]], depth: int
) -> tuple[list[int], list[int], list[int], list[float]]:
    """Return chunk ids, document ids, chunk indexes and scores of the best `depth` rows.

    `found` has (source, rows, scores): a source has `chunk_ids`, `document_ids` and
    `chunk_indexes` by row. Best first; ties by (document id, chunk index).
    """
    scores = np.concatenate([np.empty(0), *(part for _, _, part in found)])
    chunk_ids, document_ids, chunk_indexes = (
        np.concatenate([np.empty(0, np.int64), *(source[name][rows] for source, rows, _ in found)])
        for name in ("chunk_ids", "document_ids", "chunk_indexes")
    )
    order = np.lexsort((chunk_indexes, document_ids, -scores))[:depth]
    return (
        chunk_ids[order].tolist(),
        document_ids[order].tolist(),
        chunk_indexes[order].tolist(),
        scores[order].tolist(),
    )
