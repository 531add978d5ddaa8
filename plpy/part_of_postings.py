"""The postings of some rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def part_of_postings(
    postings: Mapping[str, Any], start: int, end: int, wanted: Any | None
) -> dict[str, Any]:
    """Return the postings of rows from `start` to before `end`, counted from the first of them.

    Of those only the ones that `wanted` has (rows in any order), all where it is None. `postings`
    is what joined_postings returns.
    """
    rows = postings["rows"]
    if wanted is None:
        kept = (rows >= start) & (rows < end)
    else:
        is_wanted = np.zeros(max(end, int(rows.max(initial=-1)) + 1), np.bool_)
        is_wanted[wanted[(wanted >= start) & (wanted < end)]] = True
        kept = is_wanted[rows]
    before = np.concatenate(([0], np.cumsum(kept)))
    return {
        "rows": rows[kept] - start,
        "codes": postings["codes"][kept],
        "impacts": postings["impacts"][kept],
        "starts": before[postings["starts"]].tolist(),
    }
