"""The paired test tells differences from chance, and always alike."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.cli.measure import compare
from pgblend.cli.measure.compare import compare_paired

VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_equal_runs_and_a_clear_winner() -> None:
    same = compare_paired([0.1, 0.5], [0.1, 0.5])
    assert (same.difference, same.p_value, same.ties) == (0, 1, 2)
    better = compare_paired([0.1] * 20, [0.6] * 20)
    assert better.p_value < 0.001
    assert (better.low, better.high) == (pytest.approx(0.5), pytest.approx(0.5))
    assert (better.wins, better.losses) == (20, 0)


def test_five_wins_out_of_five_have_the_exact_p() -> None:
    # Of 32 ways to swap, two are as extreme.
    found = compare_paired([0.0] * 5, [0.2] * 5)
    assert found.p_value == pytest.approx(2 / 32, abs=0.01)


@settings(max_examples=30)
@given(VALUES)
def test_the_other_way_round(values: list[float]) -> None:
    other = values[::-1]
    with pytest.MonkeyPatch.context() as few:
        few.setattr(compare, "RESAMPLES", 200)
        one, two = compare_paired(values, other), compare_paired(other, values)
    assert one.p_value == two.p_value
    assert one.difference == pytest.approx(-two.difference)
    assert (one.wins, one.losses) == (two.losses, two.wins)


def test_what_cannot_be_compared() -> None:
    for a, b in (([], []), ([1.0], [1.0, 2.0])):
        with pytest.raises(ValueError, match="expected as many"):
            compare_paired(a, b)
