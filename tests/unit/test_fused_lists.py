"""Lists fused into one order, what each gave to it, and the blend with a reranker's scores."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.fusion import fuse_lists
from pgblend.plpy.search.pool import Page
from pgblend.plpy.search.rerank import blend_addends, blend_ceiling, blended_order
from pgblend.plpy.search.scores import comparable_scores
from pgblend.plpy.search.trace import fused_parts, search_trace
from support.arm_lists import arm, never, pool_of, query_of, settings_of

TIERS = {
    "kind": "tiers",
    "tiers": [
        {"max_rank": 1, "fused": 0.75, "rerank": 0.25},
        {"max_rank": None, "fused": 0.4, "rerank": 0.6},
    ],
}
POSITION = {"kind": "position", "rerank": 0.5, "fused": 0.3, "position": 0.2}
SETTINGS: dict[str, Any] = {
    "fusion": "rrf",
    "rrf_k": 60,
    "fused_scale": "attainable",
    "feedback": {"passages": 0, "weight": 0.5},
    "bonus": {"kind": "none"},
    "normalization": {"method": "absolute"},
    "recency_half_life_days": None,
}


WORDS = arm("lexical", 1, {1: 5.0, 2: 2.5})
VECTORS = arm("vector", 3, {2: 0.6, 3: 0.2})


def fuse(lists: Any, moved: Any = never, ages: Any = never, **more: Any) -> Fused:
    return fuse_lists(lists, settings_of(SETTINGS | more), 100, moved, ages)


def test_by_ranks() -> None:
    fused = fuse([WORDS, VECTORS])
    assert fused.chunk_ids == [1, 2, 3]
    assert fused.sums == pytest.approx([1 / 61, 1 / 62 + 3 / 61, 3 / 62])
    assert fused.attainable == pytest.approx(4 / 61)
    assert fused.order == [1, 2, 0]
    assert fused.points == [total / fused.attainable for total in fused.sums]
    assert fused.bonus == [0.0, 0.0, 0.0]
    assert (fused.normal, fused.recency, fused.feedback) == (None, None, None)


def asked(question: str, words: dict[int, float], vectors: dict[int, float]) -> list[Any]:
    lists = [arm("lexical", 4, words), arm("vector", 4, vectors)]
    return [replace(one, arm=f"{one.arm}_question_{question}", question=question) for one in lists]


def test_a_passage_counts_by_its_best_sub_question() -> None:
    lists = [WORDS, *asked("1", {1: 10.0, 3: 1.0}, {1: 1.0}), *asked("2", {3: 10.0}, {2: 1.0})]
    split = {"sub_questions": {"most": 4, "weight": 4}}
    fused = fuse(lists, fusion="convex", **split)
    # 1 has half of the words' best, and all of the first; 2 a quarter, and half of the second.
    assert fused.sums == pytest.approx([(0.5 + 4) / 5, (0.25 + 4 * 0.5) / 5, 4 * 0.5 / 5])
    assert [sum(row) for row in zip(*fused_parts(lists, fused, 60).values(), strict=True)] == (
        pytest.approx(fused.sums)
    )
    assert fused_parts(lists, fused, 60)["lexical_question_1"][2] == 0  # it answers the second
    alone = fuse(lists[1:3], fusion="convex", **split)
    assert alone.sums == pytest.approx([1.0, 0.05])


def test_by_scores() -> None:
    fused = fuse([WORDS, VECTORS], fusion="convex")
    assert fused.normal == [[0.5, 0.25, 0.0], [0.0, pytest.approx(0.8), 0.6]]
    assert fused.sums == pytest.approx([0.5 / 4, (0.25 + 3 * 0.8) / 4, 3 * 0.6 / 4])
    assert (fused.attainable, fused.order) == (1.0, [1, 2, 0])


def test_a_single_list_keeps_its_own_scores() -> None:
    for fusion in ("rrf", "convex"):
        assert fuse([WORDS], fusion=fusion).points == [0.5, 0.25]
        assert fuse([VECTORS], fusion=fusion).points == pytest.approx([0.8, 0.6])
        raw = fuse([WORDS], fusion=fusion, fused_scale="raw")
        assert raw.sums == [1 / 61, 1 / 62]
        assert raw.points == pytest.approx([1, 61 / 62])


def test_no_candidates() -> None:
    empty = arm("lexical", 1, {}, None)
    for lists in ([], [empty], [empty, arm("vector", 1, {})]):
        for fusion in ("rrf", "convex"):
            fused = fuse(lists, fusion=fusion, recency_half_life_days=1, feedback={"passages": 2})
            assert fused.order == fused.points == fused.sums == []


def test_ties_go_by_document() -> None:
    fused = fuse([arm("lexical", 1, {9: 3.0, 4: 1.0}), arm("vector", 1, {4: 0.3, 9: 0.1})])
    assert fused.chunk_ids == [4, 9]
    assert fused.points[0] == fused.points[1]
    assert fused.order == [0, 1]


def test_bonus_and_age() -> None:
    bonus = {"kind": "both_top", "depth": 5, "amount": 0.1}
    ages = {1: 10.0, 2: 10.0, 3: None}
    fused = fuse(
        [WORDS, VECTORS],
        ages=lambda documents: [ages[one] for one in documents],
        bonus=bonus,
        recency_half_life_days=10,
    )
    assert fused.bonus == [0.0, 0.1, 0.0]
    assert fused.recency == [0.5, 0.5, 1.0]
    assert fused.sums == pytest.approx([0.5 / 61, (1 / 62 + 3 / 61 + 0.1) / 2, 3 / 62])
    assert fused.attainable == pytest.approx(4 / 61 + 0.1)
    parts = fused_parts([WORDS, VECTORS], fused, 60)
    assert list(parts) == ["lexical", "vector", "bonus", "recency"]
    assert parts["lexical"] == pytest.approx([1 / 61, 1 / 62, 0.0])
    assert parts["vector"] == pytest.approx([0.0, 3 / 61, 3 / 62])
    assert parts["bonus"] == [0.0, 0.1, 0.0]
    assert parts["recency"] == pytest.approx([-0.5 / 61, -(1 / 62 + 3 / 61 + 0.1) / 2, 0.0])


def test_the_vector_moves_to_the_first_passages() -> None:
    asked: list[Any] = []

    def moved(chunks: Any, towards: Any) -> Any:
        asked.append((chunks, towards))
        return {1: 1.0, 2: 0.0}

    fused = fuse([WORDS, VECTORS], moved, fusion="convex", feedback={"passages": 1, "weight": 0.5})
    assert asked == [([1, 2, 3], [2])]
    assert fused.feedback == [2]
    assert fused.normal[1] == [1.0, 0.5, 0.6]  # (1 + cosine) / 2; the third keeps its own
    assert fused.sums == pytest.approx([3.5 / 4, 1.75 / 4, 1.8 / 4])
    assert fused.order == [0, 2, 1]
    parts = fused_parts([WORDS, VECTORS], fused, 60)  # the first has no cosine of its own
    assert parts["lexical"] == pytest.approx([0.5 / 4, 0.25 / 4, 0.0])
    assert parts["vector"] == pytest.approx([0.0, 3 * 0.8 / 4, 3 * 0.6 / 4])
    assert parts["feedback"] == pytest.approx([3 / 4, 3 * (0.5 - 0.8) / 4, 0.0])
    variant = replace(VECTORS, arm="vector_variant_1")
    for lists in ([WORDS, variant], [WORDS, arm("fuzzy", 1, {1: 1.0})]):
        assert fuse(lists, fusion="convex", feedback={"passages": 1}).feedback is None


@pytest.mark.parametrize(
    ("method", "words", "cosines", "factors"),
    [
        ("absolute", [0.5, 0.25], [0.8, 0.6], (1, 1)),
        ("theoretical", [1, 0.5], [1, 0.75], (1, 1)),
        ("minmax", [1, 0], [1, 0], (1, 1)),
        ("zscore", [4 / 6, 2 / 6], [4 / 6, 2 / 6], (1, 1)),
        ("spread", [1, 0.5], [1, 0], (1, 0.5**1.25)),
    ],
)
def test_scores_on_one_scale(method: str, words: Any, cosines: Any, factors: Any) -> None:
    found = [comparable_scores(one, {"method": method}, 100, 1.2) for one in (WORDS, VECTORS)]
    assert [list(map(pytest.approx, normal)) for normal, _ in found] == [words, cosines]
    assert tuple(factor for _, factor in found) == pytest.approx(factors)


def test_lists_that_tell_nothing_apart_keep_their_weights() -> None:
    variant = replace(arm("vector", 1, {1: 0.6, 2: 0.6}), arm="vector_variant_1")
    lists = [variant, arm("vector", 3, {1: 0.6, 2: 0.6})]
    more = {"fusion": "convex", "normalization": {"method": "spread"}}
    fused = fuse_lists(lists, settings_of(SETTINGS | more), 2, never, never)
    assert fused.weights == [1, 3]
    assert fused.sums == [1, 1]


ROWS = st.dictionaries(st.integers(1, 8), st.floats(0, 1), max_size=6).map(
    lambda rows: dict(sorted(rows.items(), key=lambda row: -row[1]))
)


@given(
    words=ROWS,
    cosines=ROWS,
    fusion=st.sampled_from(["rrf", "convex"]),
    method=st.sampled_from(["absolute", "minmax", "spread"]),
    kind=st.sampled_from(["none", "both_top"]),
)
def test_parts_add_up_to_the_sums(
    words: Any, cosines: Any, fusion: str, method: str, kind: str
) -> None:
    lists = [arm("lexical", 1, words), arm("vector", 2.5, cosines)]
    fused = fuse(
        lists,
        ages=lambda documents: [float(one) for one in documents],
        fusion=fusion,
        normalization={"method": method},
        bonus={"kind": kind, "depth": 2, "amount": 0.1},
        recency_half_life_days=4,
    )
    columns = fused_parts(lists, fused, 60).values()
    assert list(map(sum, zip(*columns, strict=True))) == pytest.approx(fused.sums, abs=1e-12)
    assert all(0 <= point <= 1 for point in fused.points)
    points = [fused.points[item] for item in fused.order]
    assert points == sorted(points, reverse=True)
    assert fuse(lists[::-1], ages=lambda ids: [0.0] * len(ids)).order == fuse(lists).order


@pytest.mark.parametrize(
    ("blend", "most", "ceiling"),
    [
        (TIERS, 1.0, 1.0),
        (TIERS, 0.5, 0.4 * 0.5 + 0.6),
        (POSITION, 1.0, 1.0),
        (POSITION, 0.0, 0.7),
        ({"kind": "position", "rerank": 0, "fused": 0, "position": 0}, 1.0, 1.0),
        ({"kind": "tiers", "tiers": [{"fused": 3, "rerank": 1}]}, 0.2, 0.4),
        ({"kind": "tiers", "tiers": [{"fused": 1, "rerank": 0}]}, 0.0, 1.0),
    ],
)
def test_what_a_perfect_match_gets_from_blending(blend: Any, most: float, ceiling: float) -> None:
    assert blend_ceiling(blend, most) == pytest.approx(ceiling)


def test_weights_of_blending_are_shares_of_their_sum() -> None:
    weights: Any = {"kind": "position", "fused": 2, "rerank": 1, "position": 1}
    found = blend_addends(0.8, 0.4, 2, 4, weights)
    assert found == pytest.approx({"fused": 0.4, "rerank": 0.1, "position": 0.1875})


POOL = Fused(sums=[0.8, 0.6, 0.4, 0.2], attainable=2.0, points=[0.4, 0.3, 0.2, 0.1])


def test_reranked_items_stand_first() -> None:
    order, points, addends = blended_order([0, 1, 2], {1: 1.0, 2: 0.0}, POOL, TIERS, "attainable")
    assert order == [1, 2, 0]
    floor = 0.4 * 0.2
    assert points == pytest.approx([0.4 * floor, 0.75 * 0.3 + 0.25, floor, 0.1 * floor])
    assert addends.keys() == {1, 2}
    assert addends[1] == pytest.approx({"fused": 0.75 * 0.3, "rerank": 0.25, "position": 0})


def test_reranking_may_turn_the_order_and_ties_keep_it() -> None:
    order, points, _ = blended_order([0, 1], {0: 0.1, 1: 1.0}, POOL, TIERS, "attainable")
    assert order == [1, 0]
    assert points[:2] == pytest.approx([0.75 * 0.4 + 0.025, 0.4 * 0.3 + 0.6])
    even = replace(POOL, sums=[1.0] * 4, attainable=1.0)
    assert blended_order([2, 0], {0: 0.5, 2: 0.5}, even, {**POSITION, "position": 0}, "raw")[0] == [
        2, 0,
    ]  # fmt: skip


def test_raw_sums_are_brought_to_what_they_can_reach() -> None:
    _, points, addends = blended_order([0, 1], {0: 1.0, 1: 1.0}, POOL, TIERS, "raw")
    ceiling = 0.75 * 2 + 0.25
    assert addends[1] == pytest.approx(
        {"fused": 0.4 * 0.6 / ceiling, "rerank": 0.6 / ceiling, "position": 0}
    )
    _, points_too, addends = blended_order([0, 1], {0: 1.0, 1: 0.5}, POOL, POSITION, "attainable")
    assert [sum(addends[item].values()) for item in (0, 1)] == pytest.approx(points_too[:2])
    assert addends[1]["position"] == pytest.approx(0.2 / 2)
    assert points[:2] == pytest.approx([0.85 / ceiling, 0.84 / ceiling])


def test_what_nobody_reranked_keeps_its_points() -> None:
    assert blended_order([2, 0], {}, POOL, TIERS, "attainable") == ([2, 0], POOL.points, {})
    empty = Fused(sums=[], points=[])
    assert blended_order([], {}, empty, POSITION, "minmax") == ([], [], {})


@given(
    rows=st.lists(st.tuples(st.floats(0, 1), st.none() | st.floats(0, 1)), max_size=8),
    blend=st.sampled_from([TIERS, POSITION]),
    scale=st.sampled_from(["attainable", "minmax", "raw"]),
)
def test_blending_reorders_and_stays_in_bounds(rows: Any, blend: Any, scale: str) -> None:
    sums = sorted((row[0] for row in rows), reverse=True)
    fused = Fused(sums=sums, points=sums)
    scores = {item: row[1] for item, row in enumerate(rows) if row[1] is not None}
    order, points, addends = blended_order(list(range(len(rows))), scores, fused, blend, scale)
    assert sorted(order) == list(range(len(rows)))
    assert set(order[: len(scores)]) == set(scores)
    assert all(0 <= point <= 1 for point in points)
    found = [points[item] for item in order]
    assert found == sorted(found, reverse=True)
    for item in scores:
        assert sum(addends[item].values()) == pytest.approx(points[item], abs=1e-12)


def test_a_trace_tells_arms_places_and_what_was_dropped() -> None:
    lists = [WORDS, VECTORS]
    fused = fuse(lists, fusion="convex")

    places = {"fuse": fused.order, "page": [1]}
    pool = pool_of(fused, never, points=fused.points, places=places)
    pool = pool._replace(lists=lists, page=Page(0, [1], [0.6]))
    trace = search_trace(query_of(settings_of(SETTINGS)), pool)
    both = {
        "arms": {
            "lexical": {"rank": 2, "score": 2.5, "weight": 1},
            "vector": {"rank": 1, "score": 0.6, "weight": 3},
        },
        "parts": pytest.approx({"lexical": 0.0625, "vector": 0.6}),
        "scores": {"fuse": fused.points[1]},
        "places": {"fuse": 1, "page": 1},
    }
    assert trace == {"rows": [both]}
    dropped = {0: {"stage": "page", "reason": "min_score"}}
    pool = pool._replace(ranking=pool.ranking._replace(dropped=dropped))
    pool.stored.vector, pool.stored.known_cosines = "[1]", {2: 0.6}
    trace = search_trace(query_of(settings_of(SETTINGS), "pool"), pool)
    assert trace["rows"] == [both]
    first, *_, last = trace["candidates"]
    assert first == {
        "chunk_id": 2, "document_id": 2, "chunk_index": 0, "score": fused.points[1],
        "relevance": 0.6, **both,
    }  # fmt: skip
    assert [one["chunk_id"] for one in trace["candidates"]] == [2, 3, 1]
    assert (last["relevance"], last["dropped"]) == (None, dropped[0])
    assert last["places"] == {"fuse": 3}
