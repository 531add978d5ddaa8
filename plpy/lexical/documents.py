"""BM25 of whole documents."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pgblend.plpy.lexical.pending import pending_postings
from pgblend.plpy.lexical.postings import view_postings


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


def count_documents(
    postings: Sequence[tuple[Any, Any]], documents: Any, alive: Any, own_lengths: Any
) -> tuple[int, int, list[int]]:
    """Return (documents with live rows, their total length, documents with each term).

    By row there are the place of its document, whether it is alive, and its own length;
    `postings` has (rows, codes) of each term.
    """

    def distinct(rows: Any) -> int:
        present = np.zeros(len(documents), np.bool_)  # there are no more than rows
        present[documents[rows]] = True
        return int(np.count_nonzero(present))

    return (
        distinct(alive),
        int(own_lengths[alive].sum()),
        [distinct(rows[alive[rows]]) for rows, _ in postings],
    )


def score_documents(
    postings: Sequence[tuple[Any, Any]],
    counts: Any,
    field_weights: Sequence[float],
    idf: Sequence[float],
    k1: float,
    norms: Any,
    documents: Any,
    alive: Any,
    depth: int,
    check: Callable[[], None] = lambda: None,
) -> tuple[Any, Any]:
    """Return (places, scores) of all documents that reach the score of the best `depth`.

    `postings` has of each term the rows and codes, which are places in `counts`: occurrences in
    title, heading and body, the chunk's own (the first three columns) and those that repeat the
    chunk before. A document's frequency of a term is the weighted sum of its live chunks' own ones,
    summed as whole numbers, so that it does not matter which rows they are in. `norms` has for each
    document k1 · (1 - b + b · length / average length); `documents` is the place of each row's
    document, `alive` whether a row is there.
    score = Σ idf · tf · (k1 + 1) / (tf + norm), in the order of the terms. Ascending places.
    """
    scores = np.zeros(len(norms))
    for (rows, codes), value in zip(postings, idf, strict=True):
        check()
        live = alive[rows]
        places, found = documents[rows[live]], counts[codes[live]]
        frequency = np.zeros(len(norms))
        for field, weight in enumerate(field_weights):
            if found[:, field].any():
                frequency += weight * np.bincount(places, found[:, field], len(norms))
        has = np.flatnonzero(frequency)
        tf = frequency[has]
        scores[has] += value * tf * (k1 + 1) / (tf + norms[has])
    reached = np.flatnonzero(scores)
    if len(reached) > depth:
        cut = np.partition(scores[reached], len(reached) - depth)[len(reached) - depth]
        reached = reached[scores[reached] >= cut]
    return reached, scores[reached]


def chunks_of_documents(
    postings: Sequence[tuple[Any, Any]],
    counts: Any,
    field_weights: Sequence[float],
    idf: Sequence[float],
    k1: float,
    documents: Any,
    alive: Any,
    chunk_indexes: Any,
    wanted: Any,
) -> tuple[Any, Any]:
    """Return (rows, places): the live rows that have any term, by document in the order `wanted`.

    A place is one in `wanted`, the documents, best first. Within a document a chunk counts
    Σ idf · tf · (k1 + 1) / (tf + k1): BM25 without lengths, which chunks of one document have much
    alike, over all its words, repeated ones included. Ties by chunk index.
    """
    order = np.full(len(documents), -1)  # there are no more documents than rows
    order[wanted] = np.arange(len(wanted))
    sums = np.zeros(len(documents))
    for (rows, codes), value in zip(postings, idf, strict=True):
        kept = alive[rows] & (order[documents[rows]] >= 0)
        tf = counts[codes[kept]] @ np.array([*field_weights, *field_weights])
        occurs = tf > 0
        sums[rows[kept][occurs]] += value * tf[occurs] * (k1 + 1) / (tf[occurs] + k1)
    found = np.flatnonzero(sums)
    places = order[documents[found]]
    by_place = np.lexsort((chunk_indexes[found], -sums[found], places))
    return found[by_place], places[by_place]
