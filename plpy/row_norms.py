"""The part of BM25's denominator that depends on a row's length."""

from typing import Any

import numpy as np


def row_norms(view: dict[str, Any], k1: float, b: float, average_length: float) -> Any:
    """Return k1 · (1 - b + b · length / average length) by row, infinite where not alive.

    In single precision. The view keeps the last result, which must not be changed.
    """
    key = (k1, b, average_length)
    norms = view["norms"].get(key)
    if norms is None:
        norms = view["lengths"].astype(np.float32)
        norms *= np.float32(k1 * b / average_length)
        norms += np.float32(k1 * (1 - b))
        norms[~view["alive"]] = np.inf
        view["norms"].clear()
        view["norms"][key] = norms
    return norms
