"""The rows of a view that are not deleted."""

from typing import Any

import numpy as np

from pgblend.plpy.view_rows import view_rows


def live_rows(view: dict[str, Any], tombstones: bytes | None) -> dict[str, Any]:
    """Return `alive`, a mask of rows, `n`, how many, `total_length` of them, and `tombstones`.

    `tombstones` holds the ids of chunks deleted since the last seal (big-endian int64); those that
    dead lists hide are not alive either. The view keeps the last result.
    """
    live: dict[str, Any] | None = view["live"]
    if live is None or live["tombstones"] != tombstones:
        alive = view["alive"]
        if tombstones:
            alive = alive.copy()
            alive[view_rows(view, np.sort(np.frombuffer(tombstones, ">i8").astype(np.int64)))] = (
                False
            )
        live = view["live"] = {
            "tombstones": tombstones,
            "alive": alive,
            "n": int(np.count_nonzero(alive)),
            "total_length": int(view["lengths"][alive].sum()),
        }
    return live
