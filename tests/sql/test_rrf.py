import pytest

from support.database import Database


@pytest.mark.parametrize(
    ("ranks", "weights", "k", "normalized", "expected"),
    [
        ([1], None, 60, False, 1 / 61),
        ([1, 1], None, 60, False, 2 / 61),
        ([1, 1], None, 60, True, 1.0),
        ([1, None], None, 60, False, 1 / 61),  # a list that lacks the item is no rank
        ([1, None], None, 60, True, 0.5),
        ([3, 7], [2.0, 0.5], 20, False, 2 / 23 + 0.5 / 27),
        ([3, 7], [2.0, 0.5], 20, True, (2 / 23 + 0.5 / 27) / (2.5 / 21)),
        ([1, 2], None, 0, False, 1.5),  # no integer division
        ([5], [0.0], 60, True, 0.0),
        ([None, None], None, 60, True, 0.0),
        ([], None, 60, True, 0.0),
        (None, None, 60, True, 0.0),
    ],
)
def test_fused(db: Database, ranks, weights, k, normalized, expected) -> None:
    fused = db.value("SELECT rrf(%s::int[], %s::float8[], %s, %s)", ranks, weights, k, normalized)
    assert fused == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("ranks", "weights", "k", "part"),
    [
        ([0], None, 60, "ranks start at 1"),
        ([-1], None, 60, "ranks start at 1"),
        ([1], [-1.0], 60, "weights are 0 or from 1e-100 to 1e100"),
        ([1], [None], 60, "weight NULL"),
        ([1], [1e-101], 60, "weight 1e-101"),
        ([1], [1e101], 60, "weight 1e+101"),
        ([1], [float("nan")], 60, "weight NaN"),
        ([1], [float("inf")], 60, "weight Infinity"),
        ([1, 2], [1.0], 60, "2 ranks and 1 weights"),
        ([1], None, -1, "k is -1"),
        ([1], None, None, "k is NULL"),
        ([1], None, float("nan"), "k is NaN"),
    ],
)
def test_wrong_arguments(db: Database, ranks, weights, k, part) -> None:
    error = db.error("SELECT rrf(%s::int[], %s::float8[], %s)", ranks, weights, k)
    assert error.sqlstate == "22023"
    assert part in str(error.message_primary)
    assert error.message_hint


def test_better_ranks_give_more(db: Database) -> None:
    scores = db.column("SELECT rrf(ARRAY[i, 5]) FROM generate_series(1, 50) AS i ORDER BY i")
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 50
