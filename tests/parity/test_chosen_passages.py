"""Which candidates may be shown: repetitions, what is good enough, and how far down to look."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.choose import (
    Repeatable,
    distinct_items,
    diverse_items,
    drop_duplicates,
    good_items,
    near_duplicates,
)
from pgblend.plpy.search.page import is_enough
from pgblend.plpy.search.pool import Ranking
from pgblend.plpy.search.relevance import Curve, Scale
from pgblend.plpy.search.run import refine
from support.arm_lists import never, passage, pool_of, query_of, settings_of
from support.database import Database
from support.stage_gateway import FakeProgress


@pytest.mark.parametrize(
    ("arrays", "per_document", "dropped"),
    [
        ({"content_hashes": ["a", "b", "a", None, None, "a"]}, None,
         [None, None, (0, "content", None), None, None, (0, "content", None)]),
        ({"document_ids": [1, 1, 2, 1], "start_offsets": [0, 50, 0, 20],
          "end_offsets": [100, 150, 100, 40]}, None,
         [None, (0, "overlap", 0.5), None, (0, "overlap", 1.0)]),
        ({"document_ids": [1, 1, 1], "start_offsets": [0, 51, 100],
          "end_offsets": [100, 151, 100]}, None, [None, None, None]),
        ({"document_ids": [1, 1, 1], "start_offsets": [0, None, 0],
          "end_offsets": [9, 9, None]}, None, [None, None, None]),
        ({"document_ids": [1, 1, 1], "start_offsets": [None, 0, 2],
          "end_offsets": [9, 4, 6]}, None, [None, None, (1, "overlap", 0.5)]),
        ({"document_ids": [7, 7, 8, 7, None, None]}, 2,
         [None, None, None, (0, "per_document", None), None, None]),
        ({"content_hashes": ["a", "a", "b"], "document_ids": [1, 1, 1]}, 1,
         [None, (0, "content", None), (0, "per_document", None)]),
        ({"content_hashes": ["a", "b", "a", "b"], "document_ids": [1, 1, 1, 2]}, 1,
         [None, (0, "per_document", None), (0, "content", None), None]),  # 1 was not kept
        ({"contents": ["one two three", "ONE, two three", "three"],
          "content_hashes": ["x", "y", "z"]}, None, [None, (0, "similar", 1.0), None]),
    ],
)  # fmt: skip
def test_what_repeats_a_better_one(
    db: Database, arrays: Any, per_document: int | None, dropped: Any
) -> None:
    names = ("content_hashes", "document_ids", "start_offsets", "end_offsets")
    given = [arrays.get(name) for name in names]
    near = near_duplicates(arrays["contents"], 0.8) if "contents" in arrays else None
    assert drop_duplicates(Repeatable(*given), near, 0.5, per_document, len(dropped)) == dropped
    query = "SELECT * FROM drop_duplicates(%s, %s, %s, %s, %s, per_document => %s)"
    rows = db.rows(query, *given, arrays.get("contents"), per_document)
    assert rows == [
        (place, None, None, None) if row is None else (place, row[0] + 1, *row[1:])
        for place, row in enumerate(dropped, 1)
    ]


ITEMS = st.lists(
    st.tuples(
        st.none() | st.sampled_from("abc"),
        st.none() | st.integers(1, 3),
        st.none() | st.integers(0, 20),
        st.integers(1, 9),
    ),
    max_size=10,
)


@given(items=ITEMS, most=st.none() | st.integers(1, 3), overlap=st.sampled_from([0.1, 0.5, 1.0]))
@settings(max_examples=60)
def test_what_is_kept_repeats_nothing_kept(items: Any, most: int | None, overlap: float) -> None:
    hashes, documents, starts, sizes = ([item[column] for item in items] for column in range(4))
    ends = [None if s is None else s + size for s, size in zip(starts, sizes, strict=True)]
    repeatable = Repeatable(hashes, documents, starts, ends)
    found = drop_duplicates(repeatable, None, overlap, most, len(items))
    kept = [index for index, row in enumerate(found) if row is None]
    assert all(row is None or row[0] in kept for row in found)
    assert all(row is None or row[0] < index for index, row in enumerate(found))
    texts = [hashes[index] for index in kept if hashes[index] is not None]
    assert len(set(texts)) == len(texts)
    of_documents = [documents[index] for index in kept if documents[index] is not None]
    assert most is None or all(of_documents.count(one) <= most for one in of_documents)
    cut = drop_duplicates(repeatable, None, overlap, most, len(items) // 2)
    assert cut == found[: len(items) // 2]  # what comes later changes nothing


SETTINGS: dict[str, Any] = {
    "dedup": "content",
    "dedup_overlap": 0.5,
    "dedup_similarity": 0.6,
    "per_document": None,
    "min_score": 0.0,
    "min_relevance": None,
}
POINTS = [0.1, 0.2, 0.3, 0.4, 0.5]
POOL = Fused(
    [10, 20, 30, 40, 50],
    [1, 1, 2, 2, 3],
    [0] * 5,
    sums=POINTS,
    points=POINTS,
    order=[4, 3, 2, 1, 0],
)
TEXTS = {
    one.chunk_id: one
    for one in (
        passage(10, "red wine of France", 0, 18),
        passage(20, "wine of France is red", 4, 25),
        passage(30, "red wine of France", 0, 18),
        passage(40, " \n", 90, 92),
        passage(50, " \n", 0, 2),
    )
}


def texts_of(ids: Sequence[int]) -> Any:
    return {one: TEXTS[one] for one in ids}


@pytest.mark.parametrize(
    ("more", "kept", "reasons"),
    [
        ({}, [4, 3, 2, 1], {0: ("content", 30)}),
        ({"dedup": "overlap"}, [4, 3, 2, 1], {0: ("content", 30)}),
        ({"dedup": "near"}, [4, 3, 2, 1], {0: ("content", 30)}),
        ({"per_document": 1}, [4, 3, 1], {2: ("per_document", 40), 0: ("per_document", 20)}),
        ({"dedup": "off", "per_document": 1}, [4, 3, 1],
         {2: ("per_document", 40), 0: ("per_document", 20)}),
    ],
)  # fmt: skip
def test_settings_say_what_is_a_repetition(more: Any, kept: Any, reasons: Any) -> None:
    found, dropped = distinct_items(POOL.order, POOL, settings_of(SETTINGS | more), texts_of)
    assert found == kept
    assert {item: (why["reason"], why["duplicate_of"]) for item, why in dropped.items()} == reasons
    assert all(why["stage"] == "dedup" for why in dropped.values())


def test_overlapping_and_similar_passages() -> None:
    overlap, near = (settings_of(SETTINGS | {"dedup": kind}) for kind in ("overlap", "near"))
    assert distinct_items([0, 1], POOL, overlap, texts_of)[1] == {
        1: {"stage": "dedup", "reason": "overlap", "likeness": 14 / 18, "duplicate_of": 10}
    }
    apart = replace(POOL, document_ids=[1, 2, 3, 4, 5])
    assert distinct_items([0, 1], apart, overlap, texts_of) == ([0, 1], {})
    likeness = {"stage": "dedup", "reason": "similar", "likeness": 0.25, "duplicate_of": 10}
    found = distinct_items([0, 1], apart, replace(near, dedup_similarity=0.25), texts_of)
    assert found == ([0], {1: likeness})


def test_nothing_is_read_where_nothing_is_compared() -> None:
    off = settings_of(SETTINGS | {"dedup": "off"})
    assert distinct_items([3, 1], POOL, off, never) == ([3, 1], {})
    assert distinct_items([3, 2], POOL, replace(off, per_document=1), never)[0] == [3]


def test_passages_that_are_gone_repeat_nothing() -> None:
    assert distinct_items([0, 2], POOL, settings_of(SETTINGS), lambda _: {}) == ([0, 2], {})


@pytest.mark.parametrize(
    ("min_score", "min_relevance", "kept", "reasons"),
    [
        (0.0, None, [5, 6, 7], {}),
        (0.5, None, [5, 6], {7: "min_score"}),
        (0.0, 0.3, [5], {6: "min_relevance", 7: "min_relevance"}),
        (0.6, 0.4, [], {5: "min_relevance", 6: "min_score", 7: "min_score"}),
    ],
)
def test_what_is_good_enough(
    min_score: float, min_relevance: float | None, kept: Any, reasons: Any
) -> None:
    limits = settings_of({"min_score": min_score, "min_relevance": min_relevance})
    found, dropped = good_items([5, 6, 7], [0.9, 0.5, 0.4], [0.3, None, 0.2], limits)
    assert found == kept
    assert dropped == {item: {"stage": "page", "reason": why} for item, why in reasons.items()}


def chosen(needed: int, fused: Fused = POOL, **more: Any) -> Ranking:
    """Return what a search for so many rows makes of a pool."""
    query = query_of(settings_of(SETTINGS | more), reranks=bool(more.get("rerank_scores")))
    query = replace(query, request=query.request._replace(result_limit=needed))
    return refine(query, pool_of(fused, texts_of), never, FakeProgress()).ranking  # type: ignore[arg-type]


def test_a_choice_looks_as_far_down_as_it_must() -> None:
    assert (chosen(1).looked_at, chosen(1).best) == (1, [4])
    assert chosen(4).best == [4, 3, 2, 1]
    once = chosen(3, per_document=1)  # item 2 is of the document of 3
    assert (once.looked_at, once.best) == (5, [4, 3, 1])  # twice as many, of which there are five
    last = chosen(5)
    assert (last.looked_at, last.best, last.distinct) == (5, [4, 3, 2, 1], [4, 3, 2, 1])
    assert list(last.dropped) == [0]
    assert chosen(2, min_score=0.5).dropped[3]["reason"] == "min_score"


@pytest.mark.parametrize(
    ("dropped", "enough"),
    [({}, False), ({1: "dedup"}, False), ({1: "page"}, True), ({1: "dedup", 2: "page"}, True)],
)
def test_nothing_good_follows_what_is_not_where_relevances_fall_with_scores(
    dropped: dict[int, str], enough: bool
) -> None:
    pool = pool_of(
        POOL,
        never,
        scale=Scale("calibrated", curve=Curve(*[0.0] * 9)),
        needed=3,
        looked_at=3,
        best=[4],
        dropped={item: {"stage": stage} for item, stage in dropped.items()},
    )
    assert is_enough(query_of(settings_of(SETTINGS)), pool) is enough


def test_relevances_are_asked_for_what_is_distinct() -> None:
    query = query_of(settings_of(SETTINGS | {"min_relevance": 0.3}))
    pool = pool_of(POOL, texts_of)
    pool.stored.vector, pool.stored.known_cosines = "[1]", {10: 0.9, 50: 0.4, 40: 0.3, 30: 0.2}
    ranking = refine(query, pool, never, FakeProgress()).ranking  # type: ignore[arg-type]
    assert ranking.best == [4, 3]
    reasons = {item: why["reason"] for item, why in ranking.dropped.items()}
    assert reasons == {0: "content", 1: "min_relevance", 2: "min_relevance"}


def test_a_reranker_gets_as_many_as_it_reads() -> None:
    scores = {"50": 0.1, "40": 0.2, "20": 0.9, "30": 1.0}
    reads = {"rerank_scores": scores, "rerank_depth": 3, "rerank_level": "chunk"}
    blend = {"kind": "position", "rerank": 1, "fused": 0, "position": 0}
    found = chosen(1, per_document=1, blend=blend, fused_scale="attainable", **reads)
    assert (found.looked_at, found.targets, found.best) == (5, [4, 3, 1], [1, 3, 4])
    assert found.relevances([1, 0], pool_of(POOL, never)) == [0.9, None]


@given(needed=st.integers(0, 6), per_document=st.none() | st.just(1))
def test_pages_are_parts_of_one_list(needed: int, per_document: Any) -> None:
    whole = chosen(5, per_document=per_document).best
    found = chosen(needed, per_document=per_document).best
    assert found == whole[: len(found)]
    assert len(found) >= min(needed, len(whole))


def test_an_empty_pool() -> None:
    found = chosen(5, Fused())
    assert (found.best, found.distinct, found.dropped, found.looked_at) == ([], [], {}, 0)


@pytest.mark.parametrize(
    ("share", "pool", "order", "read"),
    [
        (0.5, 50, [4, 0, 1, 2], [50, 30, 10, 20]),  # 2 is as 4 is, 1 has no vector
        (1.0, 50, [4, 2, 0, 1], [50, 30, 10, 20]),
        (0.5, 2, [4, 2, 0, 1], [50, 30]),
        (0.5, 1, [4, 2, 0, 1], [50]),
    ],
)
def test_diverse_passages(share: float, pool: int, order: Any, read: Any) -> None:
    vectors = {50: "[1,0]", 30: "[2,0]", 10: "[0,1]"}
    asked = []

    def vectors_of(ids: Sequence[int]) -> dict[int, str]:
        asked.append(list(ids))
        return {one: vectors[one] for one in ids if one in vectors}

    scores, mmr = [0.9, 0.8, 0.7, 0.1], {"lambda": share, "pool": pool}
    assert diverse_items([4, 2, 0, 1], scores, POOL.chunk_ids, mmr, vectors_of) == order
    assert asked == [read]
    assert diverse_items([], [], [], mmr, lambda _: {}) == []
