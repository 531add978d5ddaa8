"""The chunks that have any of some terms, whatever they score."""

import numpy as np

from pgblend.plpy.filter.candidates import Ids
from pgblend.plpy.lexical.pending import pending_postings
from pgblend.plpy.lexical.postings import view_postings
from pgblend.plpy.lexical.score import Scoring


def matching_chunks(scoring: Scoring) -> Ids:
    """Return the chunks of the scoring's configuration that have any of its terms."""
    opened, terms, config = scoring.opened, scoring.terms, scoring.config
    view, pending = opened.view, opened.pending
    found: list[Ids] = [np.empty(0, np.int64)]
    if terms and config in view.ranges:
        start, end = view.ranges[config]
        lists = [rows for rows, _ in view_postings(scoring.db, view, terms)]
        rows = np.unique(np.concatenate(lists)).astype(np.intp)
        rows = rows[(rows >= start) & (rows < end)]
        alive = rows[opened.live.alive[rows]]
        found.append(view.rows.chunk_ids[alive].astype(np.int64))
    if terms and pending is not None and config in pending.ranges:
        postings, _ = pending_postings(pending, terms, *pending.ranges[config])
        rows = np.unique(np.concatenate([rows for rows, _ in postings])).astype(np.intp)
        found.append(pending.rows.chunk_ids[rows].astype(np.int64))
    return np.concatenate(found)
