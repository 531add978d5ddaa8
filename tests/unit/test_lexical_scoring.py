"""The engine's pure functions against BM25 as the textbook has it."""

import math
import struct
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.base.ports import Formula, Operand
from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.lexical import index as index_module
from pgblend.plpy.lexical import postings as reading
from pgblend.plpy.lexical import score as engine
from pgblend.plpy.lexical import score as filtering
from pgblend.plpy.lexical.index import TERM_BYTES, Live, Norms, open_index, session_cache
from pgblend.plpy.lexical.pending import MOST_LISTS, MOST_PLACES, PendingCache, pending_postings
from pgblend.plpy.lexical.postings import Postings, impacts_of, view_postings
from pgblend.plpy.lexical.records import term_ids
from pgblend.plpy.lexical.score import Scoring
from pgblend.plpy.lexical.segment import merge_postings, segment_arguments
from pgblend.plpy.lexical.vocabulary import count_chunks, known_terms
from support.fake_database import FakeDatabase
from support.lexical_chunks import CHUNKS, as_source, length, own_length, with_ids

K1, B = 1.2, 0.75
ONCE = (0, 0, 1, 0, 0, 0)
WEIGHTS = (3.0, 1.5, 1.0)


def store(segment_id, chunks):
    """Return a merged segment as its row, and the blocks of its postings."""
    names = ("chunk_ids", "document_ids", "chunk_indexes", "lengths", "own_lengths")
    names += ("code_book", "terms", "document_frequencies")
    _, arrays, blocks = segment_arguments(merge_postings([as_source(chunks)]))
    dead = [place for place, chunk in enumerate(chunks) if chunk["fate"] == "dead"]
    row = dict(zip(names, arrays, strict=True)) | {
        "id": segment_id,
        "n": len(chunks),
        "text_search_config": config_of(chunks[0]),
        "dead": np.array(dead, "<i4").tobytes(),
    }
    return row, blocks


def config_of(chunk):
    return chunk.get("config", "simple")


def pending_row(chunk):
    """Return a pending chunk as index.py reads it."""
    records = [struct.pack(">q6B", term, *counts) for term, counts in chunk["words"].items()]
    return {
        "chunk_id": chunk["id"],
        "key": pending_key(chunk),
        "collection_id": 1,
        "text_search_config": config_of(chunk),
        "place": struct.pack(">qi", chunk["document"], chunk["index"]),
        "lengths": struct.pack(">ii", length(chunk), own_length(chunk)),
        "records": b"".join(records),
    }


def pending_key(chunk):
    return struct.pack(">qI", chunk["id"], 700)


STATEMENTS = {
    "dead_digest": "state",
    "SELECT array_agg(p.id) AS ids": "together",
    "SELECT s.*": "segments",
    "xidsend(c.xmin)": "pending",
    "AS counts": "directory",
    "c.name": "damage",
    "w.block": "blocks",
}


class Index(FakeDatabase):
    """Chunks in two segments and pending, as a search finds them in the tables."""

    def __init__(self, chunks):
        super().__init__({})
        parts = {
            place: [chunk for chunk in chunks if chunk["place"] == place]
            for place in ("segment", "other segment", "pending")
        }
        self.sealed = {
            segment_id: store(segment_id, parts[place])
            for segment_id, place in ((7, "segment"), (4, "other segment"))
            if parts[place]
        }
        self.waiting = {c["id"]: c for c in parts["pending"] if c["fate"] == "alive"}
        self.buried = [c["id"] for c in chunks if c["fate"] == "buried" and c["place"] != "pending"]
        self.alive = [chunk for chunk in chunks if chunk["fate"] == "alive"]
        self.opened = open_index(self, [1])
        self.view = self.opened.view

    def run(self, statement, _, *values):
        """Answer the statements of open_index and view_postings."""
        name = next(name for mark, name in STATEMENTS.items() if mark in statement)
        self.asked.append((name, *values))
        return getattr(self, name)(*values)

    def state(self, _):
        waiting = b"".join(pending_key(chunk) for chunk in reversed(self.waiting.values()))
        return [
            {
                "segment_ids": sorted(self.sealed),
                "versions": ["0"] * len(self.sealed),
                "tombstones": struct.pack(f">{len(self.buried)}q", *self.buried[::-1]),
                "pending": waiting or None,
                "collection_ids": [1],
            }
        ]

    def together(self, segment_ids):
        return [{"ids": segment_ids}]

    def segments(self, segment_ids):
        return [self.sealed[segment_id][0] for segment_id in segment_ids]

    def pending(self, ids):
        return [pending_row(self.waiting[chunk_id]) for chunk_id in ids]

    def blocks(self, segment_ids, blocks, *of_parts):
        found = []
        for place, (s, b, *part) in enumerate(zip(segment_ids, blocks, *of_parts, strict=True), 1):
            data, (start, count, codes, code_bytes) = self.sealed[s][1][b], part
            ordinals = data[2 * start :][: 2 * count]
            codes = data[codes:][: code_bytes * count]
            found.append({"place": place, "size": len(data), "ordinals": ordinals, "codes": codes})
        return found[::-1]

    def directory(self, segment_ids, blocks):
        size = index_module.BLOCK_TERMS
        return [
            {
                "place": place,
                "terms": self.sealed[s][0]["terms"][8 * size * b :][: 8 * size],
                "counts": self.sealed[s][0]["document_frequencies"][2 * size * b :][: 2 * size],
            }
            for place, (s, b) in enumerate(zip(segment_ids, blocks, strict=True), 1)
        ][::-1]

    def postings(self, terms):
        return view_postings(self, self.view, terms)

    def search(self, terms, idf, average, depth, config="simple", checked=None):
        scoring = self.scoring(terms, idf, average, config)
        return scoring.best_passing(checked, depth)

    def scoring(self, terms, idf, average, config="simple", check=lambda: None):
        formula = Formula(K1, B, average, WEIGHTS)
        return Scoring(self, self.opened, config, terms, idf, formula, check)


class Checked:
    """What candidate_filter returns, of some ids that pass."""

    def __init__(self, column, ids, most, documents_read):
        self.column, self.ids, self.most = column, ids, most
        self.documents_read = documents_read
        self.seen = set()

    def passing(self, some):
        self.seen.update(some)
        return np.array(sorted(self.ids.intersection(some)), np.int64)

    def look_up(self, _):
        return np.array(sorted(self.ids), np.int64) if len(self.ids) <= self.most else None


def by_hand(chunks, terms, idf, average, depth):
    """Score chunk after chunk, term after term."""
    found = []
    for chunk in chunks:
        score = 0.0
        norm = K1 * (1 - B + B * length(chunk) / average)
        for term, weight in zip(terms, idf, strict=True):
            fields = chunk["words"].get(term, (0,) * 6)
            tf = sum(w * count for w, count in zip(WEIGHTS * 2, fields, strict=True))
            score += weight * tf * (K1 + 1) / (tf + norm) if tf else 0
        if score:
            found.append((-score, chunk["document"], chunk["index"], chunk["id"]))
    return [(i, document, index, -s) for s, document, index, i in sorted(found)[:depth]]


@pytest.fixture(params=["gathered", "added up", "probing"])
def path(request, monkeypatch):
    """Make the small cases of these tests take each way through the engine."""
    monkeypatch.setattr(engine, "MANY", 0 if "gathered" in request.param else 10**9)
    monkeypatch.setattr(filtering, "FIRST_PART", 1)
    monkeypatch.setattr(engine, "FEW_BLOCKS", 4)
    if request.param == "probing":
        monkeypatch.setattr(engine, "SMALL_TERM", 2)
        monkeypatch.setattr(engine, "PROBE_SHARE", 10**-9)
        monkeypatch.setattr(engine, "MANY_BLOCKS", 4)
        monkeypatch.setattr(engine, "contenders", any_contenders(engine.contenders))


def any_contenders(contenders):
    """Look rows up however many there are."""
    return lambda sums, depth, slack, bound, count: contenders(sums, depth, slack, bound, 10**9)


@pytest.mark.usefixtures("path")
@given(
    chunks=CHUNKS.map(with_ids),
    terms=st.lists(st.integers(1, 9), unique=True, max_size=5),
    idf=st.lists(st.floats(0.01, 9), min_size=5, max_size=5),
    depth=st.sampled_from([1, 2, 3, 10, 1000]),
    drift=st.floats(-0.011, 0.011),
)
@settings(max_examples=60)
def test_the_best_chunks_are_those_of_bm25_by_hand(chunks, terms, idf, depth, drift):
    index = Index(chunks)
    average = max(1, sum(map(length, index.alive))) / max(1, len(index.alive))
    idf = idf[: len(terms)]
    expected = by_hand(index.alive, terms, idf, average, depth)
    assert index.search(terms, idf, average, depth) == expected
    assert index.search(terms, idf, average, depth) == expected  # from what the view keeps
    # With norms that are a little off, too, the rows and scores are those of the exact formula.
    moved = average * (1 + drift)
    expected = by_hand(index.alive, terms, idf, moved, depth)
    assert index.search(terms, idf, moved, depth) == expected


@pytest.mark.usefixtures("path")
@given(
    chunks=CHUNKS.map(with_ids),
    languages=st.dictionaries(st.sampled_from(["segment", "other segment"]), st.just("german")),
    odd=st.booleans(),
    allowed=st.none() | st.sets(st.integers(0, 70)),
    column=st.sampled_from(["chunk", "document"]),
    most=st.sampled_from([0, 1, 99]),
    documents_read=st.sampled_from([0, 1e9]),
    depth=st.sampled_from([1, 3, 1000]),
)
@settings(max_examples=80)
def test_only_chunks_of_the_configuration_that_pass(
    chunks, languages, odd, allowed, column, most, documents_read, depth
):
    for chunk in chunks:
        chunk["config"] = languages.get(chunk["place"], "simple")
        if chunk["place"] == "pending" and odd and chunk["id"] % 2:
            chunk["config"] = "german"
    index = Index(chunks)
    name = {"chunk": "id", "document": "document"}[column]
    ids = {chunk[name] for place, chunk in enumerate(chunks) if place in (allowed or ())}
    checked = Checked(f"{column}_ids", ids, most, documents_read)
    for config in ("german", "simple", "french"):
        passing = [
            chunk
            for chunk in index.alive
            if chunk["config"] == config and (allowed is None or chunk[name] in ids)
        ]
        expected = by_hand(passing, [1, 2, 3], [1.0, 2.0, 3.0], 5, depth)
        found = index.search(
            [1, 2, 3], [1.0, 2.0, 3.0], 5, depth, config, None if allowed is None else checked
        )
        assert found == expected


@pytest.mark.parametrize(
    ("operands", "needed"),
    [
        ([], None),
        ([(1, "'a' <-> 'b'", False), (1, "'c'", True)], [[[["a", "b"]]]]),
        (
            [(1, "'it''s' <2> 'x | (y!'", False), (1, "'c'", False)],
            [[[["it's", "x | (y!"]], [["c"]]]],
        ),
        (
            [(1, "'a'", False), (2, "'b' <-> 'd' | 'c'", False)],
            [[[["a"]]], [[["b", "d"], ["c"]]]],
        ),
        ([(1, "'a' <-> ( 'b' | 'c' )", False)], None),  # nested operators are not looked into
        ([(1, "'a'", False), (1, "!'b'", False)], [[[["a"]]]]),
        ([(1, "'a'", False), (2, "'b'", True)], None),
        ([(1, "'a'", False), (2, "'b'", False)], [[[["a"]]], [[["b"]]]]),
    ],
)
def test_what_passes_needs_the_words_of_its_phrases(operands, needed):
    assert filtering.needed_phrases([Operand(*one) for one in operands]) == needed


# A phrase of one word may be a name that is written with a sign within, as rare.ly.
@pytest.mark.parametrize(
    "phrase", ["'rare'", "'none' | 'rare'", "('rare' <-> 'common' | 'none') | ('=ra.re')"]
)
@pytest.mark.parametrize("place", ["segment", "pending"])
def test_of_a_rare_phrase_few_are_checked(place, phrase):
    common, rare = (term_ids([word])[0] for word in ("common", "rare"))
    words = [{common: ONCE, **({rare: ONCE} if number == 700 else {})} for number in range(800)]
    chunks = with_ids({"words": one, "place": place, "fate": "alive"} for one in words)
    wanted = chunks[700]["id"]
    checked = Checked("chunk_ids", {wanted}, 0, 1e9)
    scoring = Index(chunks).scoring([common, rare], [1.0, 0.5], 1)
    found = scoring.best_passing(checked, 10, [Operand(1, phrase, False)])
    assert [hit[0] for hit in found] == [wanted]
    assert checked.seen == {wanted}


FEW = st.lists(st.integers(1, 9), max_size=5)
MANY = st.lists(st.integers(1, 40), min_size=20, unique=True)


@given(chunks=CHUNKS.map(with_ids), terms=FEW | MANY)
def test_statistics_are_exact(chunks, terms):
    index = Index(chunks)
    df = Counter(term for chunk in index.alive for term in chunk["words"])
    for _ in range(2):
        assert count_chunks(index, index.opened, terms) == (
            len(index.alive),
            sum(map(length, index.alive)),
            [df[term] for term in terms],
        )
        index.postings(terms[:3])  # now some are kept


def test_many_terms_are_counted_without_their_postings():
    chunks = [{"words": dict.fromkeys(range(1, 30), ONCE), "place": "segment", "fate": "alive"}]
    index = Index(with_ids(chunks * 3))
    assert count_chunks(index, index.opened, range(1, 40))[2] == [3] * 29 + [0] * 10
    assert [name for name, *_ in index.asked] == ["state", "segments"]
    assert count_chunks(index, index.opened, [1])[2] == [3]
    assert index.asked[-1][0] == "blocks"


@pytest.mark.parametrize("distinct", [40, 400], ids=["8 bit codes", "16 bit codes"])
def test_large_collections_take_every_path(distinct):
    random = np.random.default_rng(distinct)
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
    assert set(index.view.code_bytes) == {1 if distinct == 40 else 2}
    assert len(index.sealed[7][1]) > 5
    average = sum(map(length, index.alive)) / len(index.alive)
    for terms in ([1, 2, 3, 4, 5], [1, 4], [5], [1], [4, 5], [2, 3, 6]):
        n, df = len(index.alive), [sum(t in c["words"] for c in index.alive) for t in terms]
        idf = [math.log(1 + (n - count + 0.5) / (count + 0.5)) for count in df]
        expected = by_hand(index.alive, terms, idf, average, 5000)
        for depth in (1, 10, 100, 5000):
            found = index.search(terms, idf, average, depth)
            assert found == expected[:depth], (terms, depth)


def norms_of(rows, codes):
    live = Live(None, np.ones(rows, np.bool_), rows, rows)
    return Norms((1.0, 0.0, WEIGHTS), live, 1.0, np.ones(rows, np.uint8), np.ones(codes))


def test_common_words_are_looked_up_once_a_rare_one_decides(monkeypatch):
    limits = []
    contenders = engine.contenders
    monkeypatch.setattr(
        engine, "contenders", lambda *args: limits.append(contenders(*args)) or limits[-1]
    )
    monkeypatch.setattr(engine, "FEW_BLOCKS", 256)
    common = np.arange(100_000)
    rare = np.arange(0, 100_000, 1000)
    lists = [(rows, np.zeros_like(rows)) for rows in (common, rare)]
    sums = np.zeros(100_000, np.float32)
    norms = norms_of(100_000, 1)
    postings = [Postings(*pair, impacts_of(*pair, norms)) for pair in lists]
    rows = engine.candidate_rows(postings, [0.1, 9], sums, 10, 0, lambda: None)
    assert rows.tolist() == rare.tolist()
    assert [found.tolist() for found in limits] == [rare.tolist()]
    assert not sums.any()


def test_the_check_is_called_and_may_raise():
    def stop():
        raise TimeoutError

    rows = np.arange(5)
    postings = [Postings(rows, rows, impacts_of(rows, rows, norms_of(5, 5)))]
    with pytest.raises(TimeoutError):
        engine.candidate_rows(postings, [1], np.zeros(5, np.float32), 1, 0, stop)


def test_a_search_that_was_stopped_leaves_no_sums_behind():
    index = Index(with_ids([{"words": {1: ONCE}, "place": "segment", "fate": "alive"}] * 3))
    calls = []

    def stop():
        calls.append(index.view.sums)
        if len(calls) > 1:
            raise TimeoutError

    index.view.sums = np.ones(3, np.float32)
    with pytest.raises(TimeoutError):
        index.scoring([1], [1.0], 1, check=stop).best(3)
    assert index.view.sums is None
    assert len(index.search([1], [1.0], 1, 3)) == 3


def test_words_of_weight_0_find_nothing():
    words = {1: (1, 0, 0, 1, 0, 0), 2: (1, 0, 1, 0, 0, 0)}
    places = ("segment", "pending")
    chunks = [{"words": words, "place": place, "fate": "alive"} for place in places]
    index = Index(with_ids(chunks))
    formula = Formula(0.0, B, 1, (0.0, 1.0, 1.0))
    found = [
        Scoring(index, index.opened, "simple", [term], [2.0], formula, lambda: None).best(9)
        for term in (1, 2)
    ]
    assert [[score for *_, score in hits] for hits in found] == [[], [2.0, 2.0]]


def test_known_terms_are_those_of_the_language_sealed_or_pending():
    places = {1: "segment", 2: "other segment", 3: "pending", 4: "segment", 5: "pending"}
    index = Index(
        with_ids(
            {
                "words": {term: ONCE},
                "place": place,
                "fate": "alive",
                "config": "german" if term > 3 else "simple",
            }
            for term, place in places.items()
            if term != 4  # a segment has one language
        )
    )

    def known(opened, config, terms):
        return known_terms(opened, config, np.array(terms, np.int64)).tolist()

    found = known(index.opened, "simple", [9, 3, 1, 2, 5, 1])
    assert found == [False, True, True, True, False, True]
    assert known(index.opened, "german", [1, 5, 9]) == [False, True, False]
    assert known(index.opened, "french", [1, 5]) == [False, False]
    assert known(index.opened, "simple", []) == []
    assert known(Index([]).opened, "simple", [1]) == [False]


def test_a_view_keeps_postings_up_to_a_limit():
    index = Index(
        with_ids([{"words": dict.fromkeys(range(1, 6), ONCE), "place": "segment", "fate": "alive"}])
    )
    index.asked.clear()
    for terms in ([1], [1, 2], [2, 1, 1], [9], [9]):
        assert [len(rows) for rows, _ in index.postings(terms)] == [t != 9 for t in terms]
    assert [name for name, *_ in index.asked] == ["blocks"] * 2  # 9 is in no directory
    cache, each = session_cache(index), TERM_BYTES + 4 + 1
    assert index.view.posting_bytes == 2 * each + TERM_BYTES
    cache.most_bytes = 3 * each
    index.postings([3])
    index.postings([1])  # asked for last, so it stays
    index.postings([4])
    assert [*index.view.postings] == [3, 1, 4]
    index.search([4, 1], [1.0, 1.0], 1, 9)
    assert index.view.impacts.keys() == {4, 1}
    assert ([*index.view.postings], index.view.posting_bytes) == ([4, 1], 2 * (each + 4))
    cache.most_bytes = 3 * each + 4  # impacts go before postings
    index.postings([5, 4])
    assert ([*index.view.postings], [*index.view.impacts]) == ([1, 4, 5], [4])
    index.search([1], [1.0], 1, 9)
    assert ([*index.view.postings], [*index.view.impacts]) == ([4, 5, 1], [1])
    index.search([1], [1.0], 2, 9)  # other norms
    assert index.view.posting_bytes == 3 * each + 4
    cache.most_bytes = 1
    index.postings([2, 1])  # what is about to be used is kept in any case
    assert ([*index.view.postings], [*index.view.impacts]) == ([1, 2], [1])


@given(CHUNKS, st.integers(1, 4), st.lists(st.integers(-2, 11), max_size=6, unique=True))
def test_parts_of_directories_give_the_same_postings(chunks, size, terms):
    chunks = with_ids(chunks)
    with pytest.MonkeyPatch.context() as patch:
        whole = Index(chunks)
        patch.setattr(index_module, "MOST_TERMS", 0)
        patch.setattr(index_module, "BLOCK_TERMS", size)
        parts = Index(chunks)
    has_terms = any(one["words"] for one in chunks if one["place"] != "pending")
    assert (whole.view.every, parts.view.every) == (1, size if has_terms else 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "BLOCK_TERMS", size)
        found = [[(rows.tolist(), codes.tolist()) for rows, codes in one.postings(terms)]
                 for one in (whole, parts)]  # fmt: skip
        counted = [count_chunks(one, one.opened, terms) for one in (whole, parts)]
    assert found[0] == found[1]
    assert counted[0] == counted[1]


@given(CHUNKS, st.integers(1, 4), st.lists(st.integers(-2, 11), max_size=6, unique=True))
def test_postings_that_are_read_in_parts_are_the_same(chunks, size, terms):
    chunks = with_ids(chunks)
    idf = [1.0 + place for place in range(len(terms))]
    found = []
    for at_a_time in (size, 1 << 16):
        index = Index(chunks)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reading, "AT_A_TIME", at_a_time)
            pairs = [(rows.tolist(), codes.tolist()) for rows, codes in index.postings(terms)]
            found.append((pairs, index.search(terms, idf, 9.5, 5)))
    assert found[0] == found[1]


def test_parts_of_directories_are_read_where_a_segment_may_have_the_term(monkeypatch):
    monkeypatch.setattr(index_module, "MOST_TERMS", 0)
    words = {"segment": {1: ONCE, 3: ONCE}, "other segment": {1: ONCE}}
    index = Index(
        with_ids([{"words": of, "place": place, "fate": "alive"} for place, of in words.items()])
    )
    index.asked.clear()
    assert [len(rows) for rows, _ in index.postings([1, 2, 3])] == [2, 0, 1]
    assert index.asked[0] == ("directory", [4, 7, 7], [0, 0, 0])


@pytest.mark.parametrize("column", ["terms", "document_frequencies"])
def test_a_part_of_a_directory_that_is_another_is_told(monkeypatch, column):
    monkeypatch.setattr(index_module, "MOST_TERMS", 0)
    words = dict.fromkeys(range(1, 4), ONCE)
    index = Index(with_ids([{"words": words, "place": "segment", "fate": "alive"}] * 2))
    index.sealed[7][0][column] = b"\x03" + index.sealed[7][0][column][1:]
    index.damage = lambda *_: [{"name": "c"}]
    with pytest.raises(ProgramError, match="block 0 of terms is another"):
        index.postings([1])


def test_the_views_of_a_session_share_the_limit():
    index = Index(with_ids([{"words": {1: ONCE, 2: ONCE}, "place": "segment", "fate": "alive"}]))
    other = open_index(index, [2], 2 * TERM_BYTES).view
    index.postings([1])
    view_postings(index, other, [1])
    assert ([*index.view.postings], [*other.postings]) == ([], [1])


def test_what_is_kept_is_not_read_again():
    index = Index(with_ids([{"words": {1: ONCE}, "place": "pending", "fate": "alive"}]))
    index.asked.clear()
    assert index.opened.has_read
    assert not open_index(index, [1]).has_read
    assert [name for name, *_ in index.asked] == ["state"]


def test_nothing_is_taken_over_from_another_program():
    index = Index(with_ids([{"words": {1: ONCE}, "place": "segment", "fate": "alive"}]))
    index.kept("lexical")["cache"] = {"views": "of another version"}
    assert open_index(index, [1]).has_read


def test_pending_chunks_are_read_once():
    chunks = with_ids([{"words": {1: ONCE}, "place": "pending", "fate": "alive"}] * 4)
    index, kept = Index(chunks), PendingCache()
    index.asked.clear()

    def read(*places):
        listed = b"".join(pending_key(chunks[place]) for place in places)
        pending, _ = kept.update(index, listed)
        return pending and pending.rows.chunk_ids.tolist()

    ids = [chunk["id"] for chunk in chunks]
    assert read(0, 1) == ids[:2]
    assert read(0, 1) == ids[:2]
    assert read(2, 1) == ids[1:3]
    assert read() is None
    assert read(3, 2, 1, 0) == ids
    assert index.asked == [("pending", ids[:2]), ("pending", [ids[2]]), ("pending", [ids[3]])]


def test_chunks_that_wait_no_more_are_forgotten():
    """They were kept until 20,000 had been sealed: with many words in each, megabytes."""
    (chunk,) = with_ids([{"words": {1: ONCE}, "place": "pending", "fate": "alive"}])
    kept, asked = PendingCache(), []

    def rows(ids):
        asked.extend(ids)
        return [pending_row({**chunk, "id": one}) for one in ids]

    db = FakeDatabase({"xidsend": rows})
    stays = pending_key({**chunk, "id": 1})
    for number in range(2, 4 * MOST_LISTS):
        kept.update(db, stays + pending_key({**chunk, "id": number}))
        assert len(kept.chunks) <= 2 * MOST_LISTS + 1
    assert asked.count(1) == 1  # what still waits is kept
    for _ in range(MOST_LISTS - 1):
        assert kept.update(db, None) == (None, False)
    assert not kept.update(db, kept.listed)[1]  # of another collection, between
    for _ in range(MOST_LISTS):
        kept.update(db, None)
    assert (kept.chunks, kept.pending) == ({}, None)
    assert kept.update(db, stays)[0].rows.chunk_ids.tolist() == [1]


def test_pending_chunks_remember_some_terms():
    chunks = with_ids([{"words": {1: ONCE}, "place": "pending", "fate": "alive"}])
    pending = Index(chunks).opened.pending
    for term in range(2 * MOST_PLACES):
        ((rows, _),), _ = pending_postings(pending, [term], 0, 1)
        assert len(rows) == (term == 1)
        assert len(pending.places) <= MOST_PLACES


def test_an_id_given_anew_is_another_chunk():
    (chunk,) = with_ids([{"words": {1: ONCE}, "place": "pending", "fate": "alive"}])
    kept = PendingCache()
    for transaction, text in ((700, 1), (701, 2)):
        key = struct.pack(">qI", chunk["id"], transaction)
        row = pending_row({**chunk, "words": {text: ONCE}}) | {"key": key}
        pending, has_read = kept.update(FakeDatabase({"xidsend": lambda _, row=row: [row]}), key)
        assert has_read
        assert pending.terms.tolist() == [text]


def test_many_small_segments_are_read_together(monkeypatch):
    """A statement for each of many takes as long as what it reads."""
    places = ("segment", "other segment")
    chunks = with_ids([{"words": {1: ONCE}, "place": place, "fate": "alive"} for place in places])
    apart = Index(chunks)
    monkeypatch.setattr(index_module, "MANY", 1)
    together = Index(chunks)
    assert [one for one in apart.asked if one[0] == "segments"] == [
        ("segments", [4]),
        ("segments", [7]),
    ]
    assert [one for one in together.asked if one[0] == "segments"] == [("segments", [4, 7])]
    assert together.view.segment_ids == apart.view.segment_ids == [4, 7]
    assert together.view.bounds == apart.view.bounds


def test_a_view_is_made_anew_when_a_segment_changes():
    places = ("segment", "other segment")
    index = Index(
        with_ids([{"words": {1: ONCE}, "place": place, "fate": "alive"} for place in places])
    )
    views = session_cache(index).views

    def view(*collections):
        return open_index(index, list(collections), session_cache(index).most_bytes).view

    first = view(1)
    assert view(1) is first
    index.sealed[7], index.sealed[9] = index.sealed[4], index.sealed.pop(7)
    assert view(1) is not first
    assert len(views) == 1  # the one before is not kept
    view(2), view(1, 2)
    assert list(views) == [[1], [2], [1, 2]]
    session_cache(index).most_bytes = 1
    view(9)
    assert list(views) == [[9]]
