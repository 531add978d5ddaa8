"""Sealed and pending chunks as one space of rows, with the document of each."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pgblend.plpy.document_rows import document_rows
from pgblend.plpy.pending_postings import pending_postings
from pgblend.plpy.view_postings import view_postings


def joined_rows(
    opened: Mapping[str, Any],
    config: str | None,
    terms: Sequence[int],
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> dict[str, Any]:
    """Return the rows of a view and, after them, those of pending chunks.

    By row there are `chunk_ids`, `document_ids`, `chunk_indexes`, `own_lengths`, `documents` (the
    place of its document in `ids`) and `alive`: not deleted, and of this configuration, if one is
    given. Of each term `postings` has the rows and codes, which are places in `counts`: occurrences
    in title, headings and body, the chunk's own and repeated ones. `opened` is what open_index
    returns, `run` executes (statement, types, *values).
    """
    view, pending = opened["view"], opened["pending"]
    postings = view_postings(view, terms, run)
    counts, alive = view["frequencies"], opened["live"]["alive"]
    if config is not None:
        alive = alive & within(view["ranges"].get(config, (0, 0)), len(alive))
    ids, documents = document_rows(view, pending)
    names = ("chunk_ids", "document_ids", "chunk_indexes", "own_lengths")
    columns = {name: view[name] for name in names}
    if pending is not None:
        rows, codes, chunks = len(alive), len(counts), len(pending["lengths"])
        waiting = pending_postings(pending, terms, 0, chunks)
        postings = [
            (
                np.concatenate((sealed[0], waiting["rows"][start:end] + rows)),
                np.concatenate((sealed[1], waiting["codes"][start:end] + codes)),
            )
            for sealed, (start, end) in zip(postings, pairwise(waiting["starts"]), strict=True)
        ]
        counts = np.concatenate((counts, waiting["fields"]))
        first, last = (0, chunks) if config is None else pending["ranges"].get(config, (0, 0))
        alive = np.concatenate((alive, within((first, last), chunks)))
        columns = {name: np.concatenate((columns[name], pending[name])) for name in names}
    return {
        **columns,
        "ids": ids,
        "documents": documents,
        "alive": alive,
        "postings": postings,
        "counts": counts,
    }


def within(bounds: tuple[int, int], rows: int) -> Any:
    """Return a mask of the rows from the first to before the last."""
    places = np.arange(rows)
    return (places >= bounds[0]) & (places < bounds[1])
