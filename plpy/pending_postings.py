"""The pending chunks' postings of a query's terms."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np


def pending_postings(
    pending: dict[str, Any], terms: Sequence[int], start: int, end: int
) -> dict[str, Any]:
    """Return the postings of the terms among the chunks start to end, one term after the other.

    The result has `rows`, ascending within a term, `codes`, `starts` of the terms with the end of
    the last at its end, and `fields`: for each code the occurrences in title, headings and body,
    the chunk's own and repeated ones.
    """
    kept = pending["places"]
    places = []
    for term in terms:
        if term not in kept:
            kept[term] = np.flatnonzero(pending["terms"] == term)
        here = kept[term]
        if start > 0 or end < len(pending["lengths"]):
            rows = pending["ordinals"][here]
            here = here[(rows >= start) & (rows < end)]
        places.append(here)
    joined = np.concatenate([np.empty(0, np.intp), *places])
    return {
        "rows": pending["ordinals"][joined],
        "codes": np.arange(len(joined)),
        "starts": [*accumulate(map(len, places), initial=0)],
        "fields": pending["counts"][joined],
    }
