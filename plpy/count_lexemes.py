"""The statistics of BM25 over segments and pending chunks."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pgblend.plpy.pending_postings import pending_postings


def count_lexemes(
    live: dict[str, Any],
    postings: Sequence[tuple[Any, Any]],
    pending: dict[str, Any] | None,
    terms: Sequence[int],
) -> tuple[int, int, list[int]]:
    """Return (live chunks, their total length, live chunks with each term).

    `live` is what live_rows returns, `postings` has (rows, codes) of each term. Pending chunks are
    added.
    """
    n, total_length = live["n"], live["total_length"]
    df = [len(rows) for rows, _ in postings]
    if n < len(live["alive"]):
        df = [int(np.count_nonzero(live["alive"][rows])) for rows, _ in postings]
    if pending is not None:
        chunks = len(pending["lengths"])
        n += chunks
        total_length += int(pending["lengths"].sum())
        starts = pending_postings(pending, terms, 0, chunks)["starts"]
        df = [count + end - start for count, (start, end) in zip(df, pairwise(starts), strict=True)]
    return n, total_length, df
