"""Rows of a view whose chunks were deleted since the last seal."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np


def bury_rows(view: dict[str, Any], tombstones: bytes | None, find: Callable[..., Any]) -> Any:
    """Return the rows that tombstones hide, those hidden by the dead lists left out.

    `tombstones` holds the ids of deleted chunks (big-endian int64, sorted), `find` returns the
    places of values in a sorted array: each segment's chunk ids are.
    """
    if not tombstones:
        return np.empty(0, np.int64)
    buried = np.frombuffer(tombstones, ">i8").astype(np.int64)
    bounds = [*view["offsets"].values(), len(view["alive"])]
    rows = [start + find(view["chunk_ids"][start:end], buried) for start, end in pairwise(bounds)]
    hidden = np.concatenate(rows) if rows else np.empty(0, np.int64)
    return hidden[view["alive"][hidden]]
