"""Find chunks in a view of segments."""

from typing import Any

import numpy as np

from pgblend.plpy.find_rows import find_rows


def view_rows(view: dict[str, Any], chunk_ids: Any) -> Any:
    """Return the rows of the view that hold these chunks (sorted ids), ascending.

    Ids that the view does not have are left out. Each segment's ids are sorted, and most segments
    cover a range of their own, so each is only asked for the ids within its range.
    """
    parts = [np.empty(0, np.intp)]
    for start, end in view["bounds"]:
        ids = view["chunk_ids"][start:end]
        first, last = np.searchsorted(chunk_ids, (ids[0], ids[-1] + 1))
        if first < last:
            parts.append(start + find_rows(ids, chunk_ids[first:last]))
    return np.concatenate(parts)
