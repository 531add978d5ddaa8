"""The part of BM25's denominator that depends on a row's length."""

from collections.abc import Sequence
from typing import Any

import numpy as np

MOST_DRIFT = 0.01


def row_norms(
    view: dict[str, Any],
    live: dict[str, Any],
    k1: float,
    b: float,
    average_length: float,
    field_weights: Sequence[float],
) -> dict[str, Any]:
    """Return `norms`, k1 · (1 - b + b · length / average length) by row, infinite where not alive.

    In single precision, and for an `average_length` that may be up to a hundredth off: that of an
    earlier search, since it moves with every chunk. `drift` says by how much. Beside them, `tf` has
    for each code the occurrences weighted by field. The view keeps the result.
    """
    key = (k1, b, tuple(field_weights))
    kept: dict[str, Any] | None = view["norms"]
    if (
        kept is None
        or kept["key"] != key
        or kept["live"] is not live
        or abs(average_length / kept["average_length"] - 1) > MOST_DRIFT
    ):
        norms = view["lengths"].astype(np.float32)
        norms *= np.float32(k1 * b / average_length)
        norms += np.float32(k1 * (1 - b))
        norms[~live["alive"]] = np.inf
        kept = view["norms"] = {
            "key": key,
            "live": live,
            "average_length": average_length,
            "norms": norms,
            "tf": view["frequencies"] @ np.array([*field_weights] * 2, np.float64),
        }
        view["impacts"].clear()
    return kept | {"drift": abs(average_length / kept["average_length"] - 1)}
