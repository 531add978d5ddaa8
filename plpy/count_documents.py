"""The statistics of BM25 over whole documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def count_documents(
    postings: Sequence[tuple[Any, Any]], documents: Any, alive: Any, own_lengths: Any
) -> tuple[int, int, list[int]]:
    """Return (documents with live rows, their total length, documents with each term).

    By row there are the place of its document, whether it is alive, and its own length;
    `postings` has (rows, codes) of each term.
    """

    def distinct(rows: Any) -> int:
        present = np.zeros(len(documents), np.bool_)  # there are no more than rows
        present[documents[rows]] = True
        return int(np.count_nonzero(present))

    return (
        distinct(alive),
        int(own_lengths[alive].sum()),
        [distinct(rows[alive[rows]]) for rows, _ in postings],
    )
