"""BM25 of whole documents from rows of chunks, against sums by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.lexical.chunk_rows import ChunkRows
from pgblend.plpy.lexical.documents import (
    DocumentRows,
    TermWeights,
    chunks_of_documents,
    count_documents,
    document_places,
    score_documents,
)
from pgblend.plpy.lexical.index import lexical_view
from pgblend.plpy.lexical.segment import seal_rows
from support.lexical_chunks import CHUNKS, as_pending, own_length, rows_of, with_ids

K1, B = 1.2, 0.75
WEIGHTS = (3.0, 1.5, 1.0)
TERMS = st.lists(st.integers(1, 9), unique=True, max_size=5)
IDF = st.lists(st.floats(0.01, 9), min_size=5, max_size=5)


class Rows:
    """Chunks as rows: sealed ones, then pending ones; some deleted or buried."""

    def __init__(self, chunks, terms):
        sealed = [chunk for chunk in chunks if chunk["place"] != "pending"]
        waiting = [c for c in chunks if c["place"] == "pending" and c["fate"] == "alive"]
        rows = sealed + waiting
        self.chunks = [chunk for chunk in rows if chunk["fate"] == "alive"]
        ids, documents = document_places(
            view_of(rows_of(sealed)), as_pending(waiting) if waiting else None
        )
        self.keys = [(chunk["document"], chunk["index"]) for chunk in rows]
        counts, postings = [], []
        for term in terms:
            places = [place for place, chunk in enumerate(rows) if term in chunk["words"]]
            codes = len(counts) + np.arange(len(places))
            counts += [rows[place]["words"][term] for place in places]
            postings.append((np.array(places, np.intp), codes))
        self.found = DocumentRows(
            rows=rows_of(rows),
            ids=ids,
            documents=documents,
            alive=np.array([chunk["fate"] == "alive" for chunk in rows], np.bool_),
            postings=postings,
            counts=np.array(counts, np.int64).reshape(-1, 6),
        )


def view_of(rows):
    """Return a view of some rows."""
    view = lexical_view([])
    view.rows = seal_rows(rows)
    return view


def by_hand(chunks, terms, idf, average):
    """Return the score of each document, and its chunks by what they add."""
    scores, parts = {}, {}
    for document in {chunk["document"] for chunk in chunks}:
        own = [chunk for chunk in chunks if chunk["document"] == document]
        norm = K1 * (1 - B + B * sum(map(own_length, own)) / average)
        scores[document] = 0.0
        for term, weight in zip(terms, idf, strict=True):
            counts = np.array([c["words"].get(term, (0,) * 6) for c in own]).sum(axis=0).tolist()
            tf = sum(w * count for w, count in zip(WEIGHTS, counts[:3], strict=True))
            scores[document] += weight * tf * (K1 + 1) / (tf + norm) if tf else 0
        for chunk in own:
            score = 0.0
            for term, weight in zip(terms, idf, strict=True):
                counts = chunk["words"].get(term, (0,) * 6)
                tf = sum(w * count for w, count in zip(WEIGHTS * 2, counts, strict=True))
                score += weight * tf * (K1 + 1) / (tf + K1)
            if score:
                parts.setdefault(document, []).append((-score, chunk["index"]))
    return {key: score for key, score in scores.items() if score}, parts


@given(
    chunks=CHUNKS.map(with_ids), terms=TERMS, idf=IDF, depth=st.sampled_from([1, 2, 3, 10, 1000])
)
@settings(max_examples=80)
def test_the_best_documents_are_those_of_bm25_by_hand(chunks, terms, idf, depth):
    rows = Rows(chunks, terms)
    found = rows.found
    own_lengths = found.rows.own_lengths * found.alive
    lengths = np.bincount(found.documents, own_lengths, len(found.ids))
    average = max(1, lengths.sum()) / max(1, len({c["document"] for c in rows.chunks}))
    idf = idf[: len(terms)]
    norms = K1 * (1 - B + B * lengths / average)
    places, scores = score_documents(found, TermWeights(WEIGHTS, idf, K1), norms, depth)
    expected, parts = by_hand(rows.chunks, terms, idf, average)
    best = sorted(zip((-scores).tolist(), found.ids[places].tolist(), strict=True))[:depth]
    assert best == sorted((-score, key) for key, score in expected.items())[:depth]
    wanted = [found.ids.tolist().index(key) for _, key in best]
    places = np.array(wanted, np.intp)
    chosen, order = chunks_of_documents(found, TermWeights(WEIGHTS, idf, K1), places)
    assert order.tolist() == sorted(order.tolist())
    for place, (_, key) in enumerate(best):
        of_document = [rows.keys[row] for row in chosen[order == place]]
        assert of_document[0][1] in [
            index for score, index in parts[key] if score == pytest.approx(min(parts[key])[0])
        ]
        assert sorted(of_document) == sorted((key, index) for _, index in parts[key])


@given(chunks=CHUNKS.map(with_ids), terms=TERMS)
def test_statistics_count_documents_once(chunks, terms):
    rows = Rows(chunks, terms)
    assert count_documents(rows.found) == (
        len({chunk["document"] for chunk in rows.chunks}),
        sum(map(own_length, rows.chunks)),
        [len({c["document"] for c in rows.chunks if term in c["words"]}) for term in terms],
    )


def documents_alone(*ids):
    nothing = np.zeros(len(ids), np.int64)
    return ChunkRows(nothing, np.array(ids), nothing, nothing, nothing)


def test_pending_chunks_join_their_documents():
    view = view_of(documents_alone(5, 5, 9))
    pending = as_pending([])
    pending.rows = documents_alone(9, 7, 5, 7, 12)
    ids, places = document_places(view, pending)
    assert ids[places].tolist() == [5, 5, 9, 9, 7, 5, 7, 12]
    assert len(set(ids.tolist())) == len(ids) == 4
    ids, places = document_places(view, None)
    assert ids[places].tolist() == [5, 5, 9]


def test_the_check_is_called_for_each_term():
    def stop():
        raise TimeoutError

    rows, one = np.arange(3), np.ones((1, 6), int)
    found = DocumentRows(documents_alone(1, 2, 3), rows, rows, rows >= 0, [(rows, rows * 0)], one)
    with pytest.raises(TimeoutError):
        score_documents(found, TermWeights(WEIGHTS, [1], K1), np.ones(3), 1, stop)
