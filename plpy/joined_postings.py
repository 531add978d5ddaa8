"""The postings of several terms in one array each."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np


def joined_postings(
    lists: Sequence[tuple[Any, Any, Any]], weights: Sequence[float]
) -> dict[str, Any]:
    """Return the lists' rows, codes and impacts, one term after the other, and where each starts.

    The result has `rows`, ascending within a term, `codes`, `values` (impacts times the weights of
    their terms, in single precision) and `starts`, with the end of the last term at its end.
    """
    counts = [len(rows) for rows, _, _ in lists]
    rows, codes, impacts = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    return {
        "rows": rows,
        "codes": codes,
        "values": impacts * np.repeat(np.array(weights, np.float32), counts),
        "starts": [*accumulate(counts, initial=0)],
    }
