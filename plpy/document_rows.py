"""Which document each row of a view, and each pending chunk, belongs to."""

from typing import Any

import numpy as np


def document_rows(view: dict[str, Any], pending: dict[str, Any] | None) -> tuple[Any, Any]:
    """Return the ids of the documents, and by row the place of its document among them.

    Pending chunks are the rows after the view's, and may belong to documents that have sealed
    chunks. The view keeps what its own rows give.
    """
    if view["documents"] is None:
        view["documents"] = np.unique(view["document_ids"], return_inverse=True)
    ids, places = view["documents"]
    if pending is None:
        return ids, places
    waiting = pending["document_ids"]
    new = np.setdiff1d(waiting, ids)
    is_new = np.isin(waiting, new)
    later = np.where(
        is_new, len(ids) + np.searchsorted(new, waiting), np.searchsorted(ids, waiting)
    )
    return np.concatenate((ids, new)), np.concatenate((places, later))
