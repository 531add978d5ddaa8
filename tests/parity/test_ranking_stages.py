"""The stages' formulas: pure functions, what is deployed of them, and what must hold for both."""

import json
from collections.abc import Callable
from math import isclose
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from pgblend.plpy.search.fusion import fuse_ranks, rank_bonus, recency_decay
from pgblend.plpy.search.plan import arm_depth
from pgblend.plpy.search.rerank import blend_scores
from pgblend.plpy.search.scores import (
    arm_normalization,
    convex_fusion,
    normalize_scores,
    scale_fused,
)
from support.program import loading

EXAMPLES = settings(max_examples=60)
FINITE = st.floats(-1e6, 1e6)
WEIGHTS = st.just(0.0) | st.floats(1e-100, 1e100)
RANKS = st.none() | st.integers(1, 10_000)
UNIT = st.floats(0, 1)
TIERS = [
    {"max_rank": 3, "fused": 0.75, "rerank": 0.25},
    {"max_rank": 10, "fused": 0.6, "rerank": 0.4},
    {"max_rank": None, "fused": 0.4, "rerank": 0.6},
]
POSITION = {"kind": "position", "rerank": 0.5, "fused": 0.3, "position": 0.2}
BLENDS = st.sampled_from([{"kind": "tiers", "tiers": TIERS}, POSITION])
BONUSES = st.sampled_from(
    [
        {"kind": "none"},
        {"kind": "both_top", "depth": 5, "amount": 0.1},
        {
            "kind": "tiers",
            "unit": "attainable",
            "tiers": [{"max_rank": 1, "amount": 0.05}, {"max_rank": 3, "amount": 0.02}],
        },
    ]
)
METHODS = st.sampled_from(
    [
        ("minmax", {}),
        ("minmax", {"low": 0.0}),
        ("minmax", {"low": -1.0, "high": 1.0}),
        ("zscore", {}),
        ("zscore", {"clamp": 3.0}),
        ("logistic", {}),
        ("logistic", {"center": 4.5, "scale": 2.8}),
    ]
)


def lists_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One to four lists of as many items, and a weight for each."""
    return st.integers(1, 6).flatmap(
        lambda items: st.lists(
            st.tuples(st.lists(values, min_size=items, max_size=items), WEIGHTS),
            min_size=1,
            max_size=4,
        )
    )


def split(lists: Any) -> tuple[list[Any], list[float]]:
    return [values for values, _ in lists], [weight for _, weight in lists]


@pytest.fixture(scope="module")
def sql(module_connection: psycopg.Connection) -> Callable[..., Any]:
    """Ask the deployed function."""

    def value(query: str, *parameters: Any) -> Any:
        row = module_connection.execute(f"SELECT {query}", parameters).fetchone()  # type: ignore[call-overload]
        return row[0]

    return value


@pytest.fixture(scope="module")
def in_server(module_connection: psycopg.Connection) -> Callable[..., Any]:
    """Run a function that only searches use in the server's Python."""
    made = set()

    def value(function: Callable[..., Any], *arguments: Any) -> Any:
        name = function.__name__
        if name not in made:
            body = f"import json\nfrom {function.__module__} import {name}"
            body += f"\nreturn json.dumps({name}(*json.loads(arguments)))"
            module_connection.execute(loading(
                f"CREATE FUNCTION pg_temp.{name}(arguments text) RETURNS text"
                f" LANGUAGE plpython3u AS $python$\n{body}\n$python$"))  # fmt: skip
            made.add(name)
        query = f"SELECT pg_temp.{name}(%s)"
        row = module_connection.execute(query, [json.dumps(arguments)]).fetchone()
        assert row
        return json.loads(row[0])

    return value


@given(lists=lists_of(RANKS), k=st.floats(0, 1000))
@EXAMPLES
def test_rrf_of_one_item_is_that_of_all(sql: Any, in_server: Any, lists: Any, k: float) -> None:
    ranks, weights = split(lists)
    fused, attainable = fuse_ranks(ranks, weights, k)
    for score, item in zip(fused, zip(*ranks, strict=True), strict=True):
        assert sql("rrf(%s::int[], %s::float8[], %s)", list(item), weights, k) == score
    assert in_server(fuse_ranks, ranks, weights, k) == [fused, attainable]


@given(lists=lists_of(RANKS), k=st.floats(0, 1000), data=st.data())
@EXAMPLES
def test_rrf_does_not_depend_on_the_order_of_lists(lists: Any, k: float, data: Any) -> None:
    shuffled = data.draw(st.permutations(lists))
    assert fuse_ranks(*split(shuffled), k) == fuse_ranks(*split(lists), k)


@given(lists=lists_of(RANKS), k=st.floats(0, 1000))
@EXAMPLES
def test_rrf_is_bounded_monotone_and_linear_in_weights(lists: Any, k: float) -> None:
    ranks, weights = split(lists)
    fused, attainable = fuse_ranks(ranks, weights, k)
    assert all(0 <= score <= attainable for score in fused)
    better = [[1 if rank is None else max(1, rank - 1) for rank in of_list] for of_list in ranks]
    assert all(
        up >= down for up, down in zip(fuse_ranks(better, weights, k)[0], fused, strict=True)
    )
    doubled = fuse_ranks(ranks, [2 * weight for weight in weights], k)
    assert doubled == ([2 * score for score in fused], 2 * attainable)
    scaled = scale_fused(fused, attainable, "attainable")
    assert all(0 <= score <= 1 for score in scaled)


def test_a_missing_list_adds_nothing() -> None:
    assert fuse_ranks([[1, None], [None, None]], [1, 5], 60) == ([1 / 61, 0.0], 1 / 61 + 5 / 61)
    assert fuse_ranks([], [], 60) == ([], 0.0)
    assert fuse_ranks([[], []], [1, 1], 60) == ([], 2 / 61)


def found_or_0(scores: Any, weights: Any) -> Any:
    """Return what convex_fusion takes where a list lacks an item: 0, as SQL takes NULL."""
    return [[score or 0.0 for score in of_list] for of_list in scores], weights


@given(lists=lists_of(st.none() | UNIT), data=st.data())
@EXAMPLES
def test_convex_fusion(sql: Any, lists: Any, data: Any) -> None:
    scores, weights = split(lists)
    fused = convex_fusion(*found_or_0(scores, weights))
    assert fused == convex_fusion(*found_or_0(*split(data.draw(st.permutations(lists)))))
    assert all(0 <= score <= 1 + 1e-12 for score in fused)
    for score, item in zip(fused, zip(*scores, strict=True), strict=True):
        assert sql("convex_fusion(%s::float8[], %s::float8[])", list(item), weights) == score


@given(scores=st.lists(st.none() | FINITE, max_size=8), method=METHODS)
@EXAMPLES
def test_same_normalised_scores(sql: Any, scores: Any, method: Any) -> None:
    name, parameters = method
    deployed = sql("normalize_scores(%s::float8[], %s, %s)", scores, name, Jsonb(parameters))
    assert deployed == normalize_scores(scores, name, parameters)


@given(scores=st.lists(st.none() | FINITE, min_size=1, max_size=8), method=METHODS, data=st.data())
@EXAMPLES
def test_normalised_scores_keep_order_and_bounds(scores: Any, method: Any, data: Any) -> None:
    result = normalize_scores(scores, *method)
    assert [score is None for score in result] == [score is None for score in scores]
    pairs = sorted((s, r) for s, r in zip(scores, result, strict=True) if s is not None)
    assert [r for _, r in pairs] == sorted(r for _, r in pairs)
    if method != ("zscore", {}):
        assert all(0 <= r <= 1 for _, r in pairs)
    order = data.draw(st.permutations(range(len(scores))))
    assert normalize_scores([scores[i] for i in order], *method) == [result[i] for i in order]


@given(
    scores=st.lists(st.integers(-100, 100).map(float), min_size=2, max_size=8, unique=True),
    factor=st.integers(1, 50),
    shift=st.integers(-100, 100),
    method=st.sampled_from([("minmax", {}), ("zscore", {}), ("zscore", {"clamp": 3}),
                            ("logistic", {})]),
)  # fmt: skip
@EXAMPLES
def test_scale_and_origin_of_a_list_do_not_matter(
    scores: Any, factor: int, shift: int, method: Any
) -> None:
    moved = normalize_scores([factor * score + shift for score in scores], *method)
    expected = normalize_scores(scores, *method)
    assert all(isclose(m, e, abs_tol=1e-9) for m, e in zip(moved, expected, strict=True))


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"method": "minmax"}, ("minmax", {})),
        ({"method": "theoretical"}, ("minmax", {"low": 0.0})),
        ({"method": "absolute"}, ("minmax", {"low": 0.0, "high": 9.0})),
        ({"method": "zscore"}, ("zscore", {"clamp": 3.0})),
        ({"method": "logistic"}, ("logistic", {"center": None, "scale": None})),
        (
            {"method": "logistic", "center": {"lexical": 4.5}, "scale": {"lexical": 2.8}},
            ("logistic", {"center": 4.5, "scale": 2.8}),
        ),
    ],
)
def test_normalization_of_an_arm(in_server: Any, setting: Any, expected: Any) -> None:
    assert arm_normalization(setting, "lexical", 0.0, 9.0) == expected
    assert in_server(arm_normalization, setting, "lexical", 0.0, 9.0) == list(expected)
    scores = [1.0, 4.5, None, 9.0]
    normalized = normalize_scores(scores, *expected)
    assert in_server(normalize_scores, scores, *expected) == normalized


@given(lists=lists_of(RANKS), bonus=BONUSES, attainable=st.floats(0, 10))
@EXAMPLES
def test_same_bonus(sql: Any, lists: Any, bonus: Any, attainable: float) -> None:
    ranks, _ = split(lists)
    amounts, largest = rank_bonus(ranks, bonus, attainable)
    assert all(0 <= amount <= largest for amount in amounts)
    for amount, item in zip(amounts, zip(*ranks, strict=True), strict=True):
        query = "rank_bonus(%s::int[], %s, %s)"
        assert sql(query, list(item), Jsonb(bonus), attainable) == amount


@given(
    rows=st.lists(st.tuples(UNIT, st.none() | UNIT), max_size=15),
    blend=BLENDS,
)
@EXAMPLES
def test_same_blend(sql: Any, in_server: Any, rows: Any, blend: Any) -> None:
    rows = sorted(rows, key=lambda row: (row[1] is None, -row[0]))
    fused, rerank = [row[0] for row in rows], [row[1] for row in rows]
    blended = blend_scores(fused, rerank, blend)
    assert in_server(blend_scores, fused, rerank, blend) == blended
    n = sum(score is not None for score in rerank)
    for rank, score in enumerate(blended[:n], 1):
        query = "blend_scores(%s, %s, %s, %s, %s)"
        assert sql(query, fused[rank - 1], rerank[rank - 1], rank, Jsonb(blend), n) == score
    assert all(0 <= score <= 1 + 1e-12 for score in blended)
    # What was not reranked stays below what was, in the order of the fused scores.
    assert max(blended[n:], default=0) <= min(blended[:n], default=1)
    assert blended[n:] == sorted(blended[n:], reverse=True)


@given(rank=st.integers(1, 50), fused=UNIT, low=UNIT, high=UNIT, blend=BLENDS)
@EXAMPLES
def test_a_better_rerank_score_never_lowers_a_row(
    rank: int, fused: float, low: float, high: float, blend: Any
) -> None:
    low, high = sorted((low, high))
    worse, better = (blend_scores([fused], [r], blend, [rank], 50)[0] for r in (low, high))
    assert worse <= better


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("raw", [0.03, 0.02, 0.0]),
        ("minmax", [1.0, 0.02 / 0.03, 0.0]),
        ("attainable", [0.5, 1 / 3, 0.0]),
    ],
)
def test_scale_of_the_fused_score(in_server: Any, scale: str, expected: list[float]) -> None:
    fused = [0.03, 0.02, 0.0]
    assert scale_fused(fused, 0.06, scale) == pytest.approx(expected)
    assert in_server(scale_fused, fused, 0.06, scale) == scale_fused(fused, 0.06, scale)
    assert scale_fused([], 1, scale) == []


def test_scale_of_sums_that_do_not_differ() -> None:
    assert scale_fused([0.03, 0.03], 0.06, "minmax") == [1.0, 1.0]
    assert scale_fused([0.0], 0.0, "attainable") == [0.0]


@pytest.mark.parametrize(
    ("over_fetch", "wanted", "reranked", "variant", "expected"),
    [
        ({"factor": 0}, 10, False, False, 100),
        ({}, 10, True, True, 100),
        ({"factor": 2, "variant_factor": 1}, 10, True, False, 20),
        ({"factor": 2, "variant_factor": 1}, 10, False, True, 10),
        ({"factor": 2, "rerank_factor": 3}, 7, True, False, 21),
        ({"factor": 2, "rerank_factor": 3}, 7, False, False, 14),
        ({"factor": 2, "minimum": 20}, 5, False, False, 20),
        ({"factor": 2, "minimum": 20}, 15, False, False, 30),
        ({"factor": 2}, 0, False, False, 1),
        ({"factor": 2}, 10_000, False, False, 10_000),
    ],
)
def test_candidates_of_an_arm(
    in_server: Any, over_fetch: Any, wanted: int, reranked: bool, variant: bool, expected: int
) -> None:
    asked = (over_fetch, 100, wanted, reranked, variant)
    assert arm_depth(*asked) == in_server(arm_depth, *asked) == expected


def test_decay_of_one_item_is_that_of_all(sql: Any, in_server: Any) -> None:
    scores, ages = [0.9, 0.5, 0.1, 0.3], [0.0, 12.34, 1e7, None]
    decayed = recency_decay(scores, ages, 7)
    assert in_server(recency_decay, scores, ages, 7) == decayed
    query = "recency_decay(%s, %s::float8, 7)"
    assert [sql(query, *item) for item in zip(scores, ages, strict=True)] == decayed
    assert recency_decay([1.0], [5.0], None) == [1.0]
