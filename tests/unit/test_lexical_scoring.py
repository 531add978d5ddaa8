"""The engine's pure functions against BM25 as the textbook has it."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy import score_postings as engine
from pgblend.plpy.add_pending import add_pending
from pgblend.plpy.best_chunks import best_chunks
from pgblend.plpy.bury_rows import bury_rows
from pgblend.plpy.count_lexemes import count_lexemes
from pgblend.plpy.find_rows import find_rows
from pgblend.plpy.lexical_view import lexical_view
from pgblend.plpy.merge_postings import merge_postings
from pgblend.plpy.row_norms import row_norms
from pgblend.plpy.session_view import session_view
from pgblend.plpy.unpack_segment import unpack_segment
from pgblend.plpy.view_postings import view_postings
from support.lexical_chunks import CHUNKS, as_source, length, with_ids

K1, B = 1.2, 0.75
ONCE = (0, 0, 1, 0, 0, 0)
WEIGHTS = (3.0, 1.5, 1.0) * 2  # own and repeated


def store(segment_id, chunks):
    """Return a merged segment as its row, and its rows of postings."""
    merged = merge_postings([as_source(chunks)])
    dead = [place for place, chunk in enumerate(chunks) if chunk["fate"] == "dead"]
    names = {"chunk_ids": "<i8", "document_ids": "<i8", "chunk_indexes": "<i4"}
    names |= {"lengths": "<i4", "own_lengths": "<i4"}
    row = {name: merged[name].astype(kind).tobytes() for name, kind in names.items()}
    row |= {
        "id": segment_id,
        "code_book": merged["code_book"].astype("<i8").tobytes(),
        "dead": np.array(dead, "<i4").tobytes(),
    }
    postings = [
        {
            "segment_id": segment_id,
            "term": int(term),
            "ordinals": merged["ordinals"][start : start + count].tobytes(),
            "codes": merged["codes"][start : start + count].tobytes(),
        }
        for term, start, count in zip(
            merged["terms"], merged["starts"], merged["counts"], strict=True
        )
    ]
    return row, postings


class Index:
    """Chunks in two segments and pending, as a search finds them."""

    def __init__(self, chunks):
        parts = {
            place: [chunk for chunk in chunks if chunk["place"] == place]
            for place in ("segment", "other segment", "pending")
        }
        sealed = [
            store(segment_id, parts[place])
            for segment_id, place in ((7, "segment"), (4, "other segment"))
            if parts[place]
        ]
        self.stored = [posting for _, postings in sealed for posting in postings]
        self.view = lexical_view([unpack_segment(row) for row, _ in sealed])
        waiting = [chunk for chunk in parts["pending"] if chunk["fate"] == "alive"]
        self.pending = as_source(waiting) if waiting else None
        buried = [c["id"] for c in chunks if c["fate"] == "buried" and c["place"] != "pending"]
        self.buried = bury_rows(self.view, np.array(buried, ">i8").tobytes(), find_rows)
        self.alive = [chunk for chunk in chunks if chunk["fate"] == "alive"]

    def postings(self, terms):
        wanted = lambda missing: [row for row in self.stored if row["term"] in missing]  # noqa: E731
        return view_postings(self.view, terms, wanted)

    def search(self, terms, idf, average, depth):
        postings, fields = add_pending(self.view, self.postings(terms), self.pending, terms)
        norms = row_norms(self.view, K1, B, average).copy()
        norms[self.buried] = np.inf
        lengths = self.view["lengths"]
        if self.pending:
            lengths = np.concatenate((lengths, self.pending["lengths"]))
            later = K1 * (1 - B + B * self.pending["lengths"] / average)
            norms = np.concatenate((norms, later.astype(np.float32)))
        rows, scores = engine.score_postings(
            postings,
            fields @ np.asarray(WEIGHTS),
            idf,
            K1,
            norms,
            lambda rows: K1 * (1 - B + B * lengths[rows] / average),
            depth,
        )
        return list(zip(*best_chunks(self.view, self.pending, rows, scores, depth), strict=True))


def by_hand(chunks, terms, idf, average, depth):
    """Score chunk after chunk, term after term."""
    found = []
    for chunk in chunks:
        score = 0.0
        norm = K1 * (1 - B + B * length(chunk) / average)
        for term, weight in zip(terms, idf, strict=True):
            fields = chunk["words"].get(term, (0,) * 6)
            tf = sum(w * count for w, count in zip(WEIGHTS, fields, strict=True))
            score += weight * tf * (K1 + 1) / (tf + norm) if tf else 0
        if score:
            found.append((-score, chunk["document"], chunk["index"], chunk["id"]))
    return [(i, document, index, -s) for s, document, index, i in sorted(found)[:depth]]


@pytest.fixture(params=["compact", "dense", "probing"])
def path(request, monkeypatch):
    """Make the small cases of these tests take each way through the engine."""
    monkeypatch.setattr(engine, "SPARSE", 0 if request.param == "compact" else 10**9)
    if request.param == "probing":
        monkeypatch.setattr(engine, "SMALL_TERM", 2)
        monkeypatch.setattr(engine, "PROBE_SHARE", 10**-9)
        monkeypatch.setattr(engine, "BLOCKS", 4)
        monkeypatch.setattr(engine, "contenders", any_contenders(engine.contenders))


def any_contenders(contenders):
    """Look rows up however many there are."""
    return lambda sums, depth, bound, count: contenders(sums, depth, bound, 10**9)


@pytest.mark.usefixtures("path")
@given(
    chunks=CHUNKS.map(with_ids),
    terms=st.lists(st.integers(1, 9), unique=True, max_size=5),
    idf=st.lists(st.floats(0.01, 9), min_size=5, max_size=5),
    depth=st.sampled_from([1, 2, 3, 10, 1000]),
)
@settings(max_examples=150, deadline=None)
def test_the_best_chunks_are_those_of_bm25_by_hand(chunks, terms, idf, depth):
    index = Index(chunks)
    average = max(1, sum(map(length, index.alive))) / max(1, len(index.alive))
    idf = idf[: len(terms)]
    expected = by_hand(index.alive, terms, idf, average, depth)
    assert index.search(terms, idf, average, depth) == expected
    assert index.search(terms, idf, average, depth) == expected  # from what the view keeps


@given(chunks=CHUNKS.map(with_ids), terms=st.lists(st.integers(1, 9), unique=True, max_size=5))
@settings(deadline=None)
def test_statistics_are_exact(chunks, terms):
    index = Index(chunks)
    df = Counter(term for chunk in index.alive for term in chunk["words"])
    assert count_lexemes(index.view, index.postings(terms), index.buried, index.pending, terms) == (
        len(index.alive),
        sum(map(length, index.alive)),
        [df[term] for term in terms],
    )


@pytest.mark.parametrize("depth", [1, 10, 100, 5000])
@pytest.mark.parametrize("distinct", [40, 400], ids=["8 bit codes", "16 bit codes"])
def test_large_collections_take_every_path(depth, distinct):
    random = np.random.default_rng(depth + distinct)
    shares = {1: 0.9, 2: 0.4, 3: 0.05, 4: 0.002, 5: 0.0001}
    chunks = with_ids(
        {
            "words": {
                term: (0, *random.integers((0, 1), (4, distinct // 2)).tolist(), 0, 0, 0)
                for term, share in shares.items()
                if random.random() < share
            },
            "place": "segment",
            "fate": "dead" if random.random() < 0.1 else "alive",
        }
        for _ in range(20_000)
    )
    index = Index(chunks)
    assert set(index.view["code_types"].values()) == {"u1" if distinct == 40 else "<u2"}
    average = sum(map(length, index.alive)) / len(index.alive)
    for terms in ([1, 2, 3, 4, 5], [1, 4], [5], [1], [4, 5], [2, 3, 6]):
        n, df = len(index.alive), [sum(t in c["words"] for c in index.alive) for t in terms]
        idf = [math.log(1 + (n - count + 0.5) / (count + 0.5)) for count in df]
        assert index.search(terms, idf, average, depth) == by_hand(
            index.alive, terms, idf, average, depth
        )


def test_common_words_are_looked_up_once_a_rare_one_decides(monkeypatch):
    calls = []
    probe = engine.probe
    monkeypatch.setattr(engine, "probe", lambda *args: calls.append(args) or probe(*args))
    monkeypatch.setattr(engine, "BLOCKS", 256)
    common = np.arange(100_000)
    rare = np.arange(0, 100_000, 1000)
    postings = [(common, common * 0), (rare, rare * 0)]
    norms = np.ones(100_000, np.float32)
    rows, _ = engine.score_postings(
        postings, np.ones(1), [0.1, 9], K1, norms, lambda rows: np.ones(len(rows)), 10
    )
    assert rows.tolist() == rare.tolist()
    assert len(calls) == 3  # the common word for the candidates; then both for exact scores


def test_the_check_is_called_and_may_raise():
    def stop():
        raise TimeoutError

    rows = np.arange(5)
    with pytest.raises(TimeoutError):
        engine.score_postings(
            [(rows, rows * 0)], np.ones(1), [1], K1, np.ones(5, np.float32), np.zeros_like, 1, stop
        )


def test_a_view_keeps_postings_up_to_a_limit(monkeypatch):
    from pgblend.plpy import view_postings as module

    index = Index(
        with_ids([{"words": {1: ONCE, 2: ONCE}, "place": "segment", "fate": "alive"}] * 3)
    )
    asked = []

    def fetch(missing):
        asked.append(missing)
        return [row for row in index.stored if row["term"] in missing]

    for terms in ([1], [1, 2], [2, 1], [9], [9]):
        module.view_postings(index.view, terms, fetch)
    assert asked == [[1], [2], [9]]
    monkeypatch.setattr(module, "MOST_POSTINGS", 5)
    module.view_postings(index.view, [1], fetch)
    assert asked[3:] == [[1]]
    assert index.view["postings"].keys() == {1}


def test_a_view_is_made_anew_when_a_segment_changes():
    cache, fetched = {}, []

    def view(ids, versions):
        return session_view(
            ids,
            versions,
            cache,
            lambda ids: fetched.append(ids) or ids,
            lambda row: row,
            lambda rows: {"lengths": rows},
        )

    first = view([1, 2], ["a", "b"])
    assert view([1, 2], ["a", "b"]) is first
    assert view([1, 2], ["a", "c"]) is not first
    assert view([], []) == {"lengths": []}
    assert fetched == [[1, 2], [1, 2]]
