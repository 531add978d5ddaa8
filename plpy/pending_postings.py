"""The pending chunks' postings of a query's terms."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def pending_postings(
    pending: dict[str, Any], terms: Sequence[int], start: int, end: int
) -> tuple[list[tuple[Any, Any]], Any]:
    """Return the postings of each term among the chunks start to end, and the frequencies' table.

    Postings are (rows, codes): rows ascending, codes are places in the table, whose columns are
    occurrences in title, headings and body, the chunk's own and repeated ones.
    """
    places = pending["places"]
    for term in terms:
        if term not in places:
            places[term] = np.flatnonzero(pending["terms"] == term)
    postings, counts, first = [], [pending["counts"][:0]], 0
    for term in terms:
        here = places[term]
        rows = pending["ordinals"][here]
        if start > 0 or end < len(pending["lengths"]):
            inside = (rows >= start) & (rows < end)
            here, rows = here[inside], rows[inside]
        postings.append((rows, np.arange(first, first + len(rows))))
        counts.append(pending["counts"][here])
        first += len(rows)
    return postings, np.concatenate(counts)
