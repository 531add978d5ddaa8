"""The statistics of BM25 over segments and pending chunks."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def count_lexemes(
    view: dict[str, Any],
    postings: Sequence[tuple[Any, Any]],
    buried: Any,
    pending: dict[str, Any] | None,
    terms: Sequence[int],
) -> tuple[int, int, list[int]]:
    """Return (live chunks, their total length, live chunks with each term).

    `postings` has (rows, codes) of each term; `buried` are rows to leave out besides those that are
    not alive. Pending chunks are added.
    """
    alive = view["alive"]
    n = int(np.count_nonzero(alive)) - len(buried)
    total_length = view["total_length"] - int(view["lengths"][buried].sum())
    df = [len(rows) for rows, _ in postings]
    if n < len(alive):
        if len(buried):
            alive = alive.copy()
            alive[buried] = False
        df = [int(np.count_nonzero(alive[rows])) for rows, _ in postings]
    if pending is not None:
        n += len(pending["chunk_ids"])
        total_length += int(pending["lengths"].sum())
        for place, term in enumerate(terms):
            df[place] += int(np.count_nonzero(pending["terms"] == term))
    return n, total_length, df
