"""BM25 of whole documents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.session import Database
from pgblend.plpy.lexical.chunk_rows import ROW, ChunkRows, Floats, Integers, Mask, Pair, join_rows
from pgblend.plpy.lexical.index import IndexView, OpenIndex
from pgblend.plpy.lexical.pending import Pending, pending_postings
from pgblend.plpy.lexical.postings import view_postings
from pgblend.plpy.lexical.segment import SealedRows


def document_places(view: IndexView, pending: Pending | None) -> tuple[Integers, Integers]:
    """Return the ids of the documents, and by row the place of its document among them.

    Pending chunks are the rows after the view's, and may belong to documents that have sealed
    chunks. The view keeps what its own rows give.
    """
    if view.documents is None:
        own_ids, own_places = np.unique(view.rows.document_ids.whole(), return_inverse=True)
        view.documents = own_ids, own_places.astype(ROW)
    ids, places = view.documents
    if pending is None:
        return ids, places
    waiting = pending.rows.document_ids
    new = np.setdiff1d(waiting, ids)
    is_new = np.isin(waiting, new)
    later = np.where(
        is_new, len(ids) + np.searchsorted(new, waiting), np.searchsorted(ids, waiting)
    )
    return np.concatenate((ids, new)), np.concatenate((places, later))


@dataclass(slots=True, eq=False, repr=False)
class DocumentRows:
    """The rows of a view and, after them, those of pending chunks.

    By row there are the place of its document in `ids`, and whether it is `alive`. That is, not
    deleted, and of the configuration asked for. Of each term `postings` has the rows and codes,
    which are places in `counts`. These are occurrences in title, headings and body, the chunk's own
    and repeated ones.
    """

    rows: ChunkRows | SealedRows
    ids: Integers
    documents: Integers
    alive: Mask
    postings: Sequence[Pair]
    counts: Integers


def joined_rows(
    db: Database, opened: OpenIndex, config: str | None, terms: Sequence[int]
) -> DocumentRows:
    """Return the rows of an open index, of one configuration, if one is given."""
    view, pending = opened.view, opened.pending
    postings = view_postings(db, view, terms)
    rows: ChunkRows | SealedRows = view.rows
    counts, alive = view.frequencies, opened.live.alive
    if config is not None:
        alive = alive & within(view.ranges.get(config, (0, 0)), len(alive))
    ids, documents = document_places(view, pending)
    if pending is not None:
        chunks = len(pending.rows)
        waiting, frequencies = pending_postings(pending, terms, 0, chunks)
        postings = [
            (
                np.concatenate((sealed[0], of_term[0] + len(alive))),
                np.concatenate((sealed[1], of_term[1] + len(counts))),
            )
            for sealed, of_term in zip(postings, waiting, strict=True)
        ]
        counts = np.concatenate((counts, frequencies))
        bounds = (0, chunks) if config is None else pending.ranges.get(config, (0, 0))
        alive = np.concatenate((alive, within(bounds, chunks)))
        rows = join_rows([view.rows.whole(), pending.rows])
    return DocumentRows(rows, ids, documents, alive, postings, counts)


def within(bounds: tuple[int, int], rows: int) -> Mask:
    """Return a mask of the rows from the first to before the last."""
    places = np.arange(rows)
    return (places >= bounds[0]) & (places < bounds[1])


def count_documents(found: DocumentRows) -> tuple[int, int, list[int]]:
    """Return (documents with live rows, their total length, documents with each term)."""

    def distinct(rows: Integers | Mask) -> int:
        present = np.zeros(len(found.documents), np.bool_)  # there are no more than rows
        present[found.documents[rows]] = True
        return int(np.count_nonzero(present))

    return (
        distinct(found.alive),
        int(found.rows.own_lengths[found.alive].sum(dtype=np.int64)),
        [distinct(rows[found.alive[rows]]) for rows, _ in found.postings],
    )


class TermWeights(NamedTuple):
    """What an occurrence counts by its field, what a term by its idf, and how soon that is full."""

    fields: Sequence[float]
    idf: Sequence[float]
    k1: float


def score_documents(
    found: DocumentRows,
    weights: TermWeights,
    norms: Floats,
    depth: int,
    check: Callable[[], None] = lambda: None,
) -> tuple[Integers, Floats]:
    """Return (places, scores) of all documents that reach the score of the best `depth`.

    A document's frequency of a term is the weighted sum of its live chunks' own ones. They are
    summed as whole numbers, so their rows do not matter. `norms` has for each document
    k1 · (1 - b + b · length / average length).
    score = Σ idf · tf · (k1 + 1) / (tf + norm), in the order of the terms. Ascending places.
    """
    k1 = weights.k1
    scores = np.zeros(len(norms))
    for (rows, codes), value in zip(found.postings, weights.idf, strict=True):
        check()
        live = found.alive[rows]
        places, counts = found.documents[rows[live]], found.counts[codes[live]]
        frequency = np.zeros(len(norms))
        for place, weight in enumerate(weights.fields):
            if counts[:, place].any():
                frequency += weight * np.bincount(places, counts[:, place], len(norms))
        has = np.flatnonzero(frequency)
        tf = frequency[has]
        scores[has] += value * tf * (k1 + 1) / (tf + norms[has])
    reached = np.flatnonzero(scores)
    if len(reached) > depth:
        cut = np.partition(scores[reached], len(reached) - depth)[len(reached) - depth]
        reached = reached[scores[reached] >= cut]
    return reached, scores[reached]


def chunks_of_documents(
    found: DocumentRows, weights: TermWeights, wanted: Integers
) -> tuple[Integers, Integers]:
    """Return (rows, places): the live rows that have any term, by document in the order `wanted`.

    A place is one in `wanted`, the documents, best first. Within a document a chunk counts
    Σ idf · tf · (k1 + 1) / (tf + k1): BM25 without lengths, which chunks of one document have much
    alike, over all its words, repeated ones included. Ties by chunk index.
    """
    k1 = weights.k1
    order = np.full(len(found.documents), -1)  # there are no more documents than rows
    order[wanted] = np.arange(len(wanted))
    sums = np.zeros(len(found.documents))
    for (rows, codes), value in zip(found.postings, weights.idf, strict=True):
        kept = found.alive[rows] & (order[found.documents[rows]] >= 0)
        tf = found.counts[codes[kept]] @ np.array([*weights.fields, *weights.fields])
        occurs = tf > 0
        sums[rows[kept][occurs]] += value * tf[occurs] * (k1 + 1) / (tf[occurs] + k1)
    reached = np.flatnonzero(sums)
    places = order[found.documents[reached]]
    by_place = np.lexsort((found.rows.chunk_indexes[reached], -sums[reached], places))
    return reached[by_place], places[by_place]
