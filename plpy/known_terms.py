"""Which terms the lexical index has."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def known_terms(opened: Mapping[str, Any], config: str, terms: Iterable[int]) -> set[int]:
    """Return those of the terms that chunks of a text search configuration have.

    `opened` is what open_index returns. Sealed chunks that were deleted count until their segment
    is written anew.
    """
    wanted = np.unique(np.array([*terms], np.int64))  # in order, they are found in half of the time
    known = np.zeros(len(wanted), np.bool_)
    view, pending = opened["view"], opened["pending"]
    first, last = view["ranges"].get(config, (0, 0))
    for (directory, _), (start, _) in zip(view["directories"], view["bounds"], strict=True):
        if first <= start < last and len(directory):
            known |= directory.take(directory.searchsorted(wanted), mode="clip") == wanted
    if pending is not None and config in pending["ranges"]:
        first, last = pending["ranges"][config]
        chunks = pending["ordinals"]
        known |= np.isin(wanted, pending["terms"][(chunks >= first) & (chunks < last)])
    return set(wanted[known].tolist())
