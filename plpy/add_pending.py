"""The pending chunks' postings beside the sealed ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def add_pending(
    view: dict[str, Any],
    postings: Sequence[tuple[Any, Any]],
    pending: dict[str, Any] | None,
    terms: Sequence[int],
) -> tuple[list[tuple[Any, Any]], Any]:
    """Return the postings of each term with those of pending chunks, and the table of frequencies.

    Pending chunks are the rows after the view's; their frequencies come after the view's in the
    table, one for each posting: six counts, as in the view.
    """
    table = view["frequencies"]
    if pending is None:
        return list(postings), table
    places = [np.flatnonzero(pending["terms"] == term) for term in terms]
    joined, start = [], len(table)
    for (rows, codes), here in zip(postings, places, strict=True):
        end = start + len(here)
        later = pending["ordinals"][here] + len(view["lengths"])
        joined.append(
            (np.concatenate((rows, later)), np.concatenate((codes, np.arange(start, end))))
        )
        start = end
    added = pending["counts"][np.concatenate(places)] if places else table[:0]
    return joined, np.concatenate((table, added))
