"""The list that the graph gives, and how it is fused with the others; worked by hand."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.base.ports import NodePassage
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.fusion import fuse_lists
from pgblend.plpy.search.graph import Reached, fuse_graph, graph_list, seed_nodes
from pgblend.plpy.search.run import add_graph
from support.arm_lists import arm, never, pool_of, query_of, settings_of
from support.stage_gateway import FakeProgress

# Passages 11 and 12 of document 1, 21 of 2; nodes are 4 · chunk id + 1 and 4 · document id.
POOL = Fused(
    chunk_ids=[11, 12, 21],
    document_ids=[1, 1, 2],
    chunk_indexes=[0, 1, 0],
    points=[0.8, 0.5, 0.2],
    order=[0, 1, 2],
)


def listed(
    seeds: list[int], walked: list[tuple[int, int, int]], found: Sequence[tuple[int, ...]] = ()
) -> Any:
    """Return the list, and which nodes were walked from and looked up."""
    asked: list[Any] = []

    def passages(nodes: Sequence[int]) -> Any:
        asked.append(list(nodes))
        return [NodePassage(*one) for one in found]

    seed_of = seed_nodes(POOL, seeds)
    asked.append(list(seed_of))
    rows, gone = graph_list(POOL, seed_of, walked, passages)
    told = [(row.chunk_id, row.distance, row.near) for row in rows]
    return told, gone, asked


def test_seeds_are_passages_and_their_documents() -> None:
    assert listed([0, 1, 2], []) == ([], 0, [[45, 4, 49, 85, 8], []])
    assert listed([], []) == ([], 0, [[], []])


def test_a_passage_of_the_pool_is_reached_as_itself_or_by_its_document() -> None:
    assert listed([0], [(8, 1, 4)])[0] == [(21, 1, 0.8)]
    assert listed([0], [(85, 2, 45)])[0] == [(21, 2, 0.4)]
    assert listed([0], [(85, 2, 45), (8, 1, 4)])[0] == [(21, 1, 0.8)]
    assert listed([2], [(4, 1, 8)])[0] == [(11, 1, 0.2)]  # its best passage


def test_a_seed_does_not_lead_to_itself() -> None:
    assert listed([0], [(45, 0, 45), (4, 1, 45), (45, 2, 4), (45, 2, 45)])[0] == []
    assert listed([0], [(49, 1, 45)])[0] == [(12, 1, 0.8)]  # another passage of the document


def test_the_best_seed_over_its_distance_counts() -> None:
    walked = [(400, 1, 8), (400, 2, 4), (404, 1, 8), (408, 3, 8)]
    found = [(400, 101, 100, 0), (404, 102, 101, 0), (408, 0, 0, 0)]
    told, gone, asked = listed([0, 2], walked, found)
    assert told == [(101, 1, 0.4), (102, 1, 0.2)]
    assert (gone, asked[1]) == (1, [400, 404, 408])


def test_a_passage_reached_twice_is_one_row_and_ties_go_by_place() -> None:
    walked = [(400, 2, 4), (405, 1, 8), (500, 1, 8), (600, 1, 8)]
    found = [(400, 101, 100, 0), (405, 101, 100, 0), (600, 7, 9, 1), (500, 8, 9, 0)]
    rows, _ = graph_list(
        POOL, seed_nodes(POOL, [0, 2]), walked, lambda _: [NodePassage(*one) for one in found]
    )
    assert [(row.chunk_id, row.near, row.score) for row in rows] == [
        (101, 0.4, 0.5), (8, 0.2, 0.5), (7, 0.2, 0.5),
    ]  # fmt: skip


SETTINGS: dict[str, Any] = {
    "fusion": "rrf",
    "rrf_k": 60,
    "fused_scale": "attainable",
    "feedback": {"passages": 0},
    "bonus": {"kind": "none"},
    "normalization": {"method": "absolute"},
    "recency_half_life_days": None,
    "graph": {"combine": "fused", "weight": 0.5},
}


WORDS = arm("lexical", 1, {1: 5.0, 2: 2.5})
VECTORS = arm("vector", 3, {2: 0.6, 1: 0.2})
ROWS = [Reached(3, 3, 0, 1, 0.75), Reached(1, 1, 0, 2, 0.2)]


def fused_with(lists: Any, rows: Any, more: Any, ages: Any = never) -> tuple[Any, Any, Any]:
    settings = settings_of(SETTINGS | more)
    fused = fuse_lists(lists, settings, 100, never, ages)
    return fused, *fuse_graph(lists, fused, rows, settings, ages)


def test_by_ranks_the_graph_is_one_more_list() -> None:
    before, lists, after = fused_with([WORDS, VECTORS], ROWS, {})
    assert [one.arm for one in lists] == ["lexical", "vector", "graph"]
    assert lists[2].weight == 2
    assert lists[2].notes == {1: {"distance": 1}, 2: {"distance": 2}}
    assert after.chunk_ids == [1, 2, 3]
    assert after.sums == pytest.approx([1 / 61 + 3 / 62 + 2 / 62, 1 / 62 + 3 / 61, 2 / 61])
    assert after.attainable == pytest.approx(6 / 61)
    assert before.attainable == pytest.approx(4 / 61)
    assert after.order == [0, 1, 2]
    assert (after.weights, after.total, after.normal) == ([1, 3, 2], 6, None)


def test_by_scores_it_shares_the_weight() -> None:
    before, _, after = fused_with([WORDS, VECTORS], ROWS, {"fusion": "convex"})
    assert before.sums == pytest.approx([(0.5 + 3 * 0.6) / 4, (0.25 + 3 * 0.8) / 4])
    expected = [(0.5 + 3 * 0.6 + 2 * 0.2) / 6, (0.25 + 3 * 0.8) / 6, 2 * 0.75 / 6]
    assert after.sums == pytest.approx(expected)
    assert after.attainable == pytest.approx(1)
    assert after.points == pytest.approx(expected)
    assert after.normal[2] == [0.2, 0.0, 0.75]
    assert [one[2] for one in after.normal[:2]] == [0.0, 0.0]


def test_the_sum_of_scores_as_they_are() -> None:
    more = {"graph": {"combine": "sum", "weight": 0.5}}
    _, lists, after = fused_with([arm("vector", 3, {1: 0.9, 2: -0.4})], ROWS, more)
    assert lists[1].weight == 0.5
    assert after.sums == pytest.approx([0.9 + 0.5 / 3, -0.4, 0.25])
    assert after.attainable == 1.25
    assert after.points == pytest.approx([(0.9 + 0.5 / 3) / 1.25, 0.0, 0.2])
    assert after.order == [0, 2, 1]
    assert (after.weights, after.total) == ([1.0, 0.5], 1.0)


def test_age_and_bonus_count_once() -> None:
    more = {"recency_half_life_days": 10, "bonus": {"kind": "both_top", "depth": 5, "amount": 0.1}}
    ages = {1: 0.0, 2: 10.0, 3: 20.0}
    _, _, after = fused_with(
        [WORDS, VECTORS], ROWS, more, lambda documents: [ages[one] for one in documents]
    )
    assert after.recency == [1.0, 0.5, 0.25]
    assert after.bonus == [0.1, 0.1, 0.0]
    assert after.sums == pytest.approx(
        [1 / 61 + 5 / 62 + 0.1, (1 / 62 + 3 / 61 + 0.1) / 2, 2 / 61 / 4]
    )


@given(st.permutations(range(1, 6)), st.sampled_from(["rrf", "convex"]), st.floats(0, 2))
def test_points_keep_their_bounds_and_the_graph_lowers_nobody(
    ids: list[int], fusion: str, weight: float
) -> None:
    words = arm("lexical", 1, {one: 9.0 - place for place, one in enumerate(ids[:3])})
    vectors = arm("vector", 2, {one: 0.9 - place / 9 for place, one in enumerate(ids)})
    more = {"fusion": fusion, "graph": {"combine": "fused", "weight": weight}}
    before, _, after = fused_with([words, vectors], ROWS, more)
    assert all(0 <= point <= 1 for point in after.points)
    assert sorted(after.order) == list(range(5))
    others = [item for item in before.order if before.chunk_ids[item] not in (1, 3)]
    assert [item for item in after.order if after.chunk_ids[item] not in (1, 3)] == others


def test_a_graph_without_weight_is_not_walked() -> None:
    log: Any = FakeProgress()
    query = query_of(settings_of({"graph": {"weight": 0}}))
    pool = pool_of(Fused(order=[0]), never)._replace(lists=[WORDS])
    assert add_graph(query, pool, never, log) is pool  # type: ignore[arg-type]
    assert log.told() == [("graph", "its weight is 0")]
