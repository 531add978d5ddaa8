"""How likely a correction is."""

from decimal import ROUND_HALF_UP, Context, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgblend.plpy.lexical.corrections import likelihood, power_of_two_fifths, repeated


@given(st.integers(1, 10**10))
@example(1)
@example(32)  # 4, exactly
@example(99_999)
@example(100_000)  # 100, exactly
@example(316)  # before and after ten
@example(317)
def test_a_power_has_the_digits_of_numeric(n: int) -> None:
    power = Context(prec=60).power(Decimal(n), Decimal("0.4"))
    assert power_of_two_fifths(n) == float(Context(prec=17, rounding=ROUND_HALF_UP).plus(power))


@pytest.mark.parametrize(
    ("df", "cost", "expected"),
    [(0, 0.0, 1.0), (31, 0.0, 4.0), (0, 1.0, 0.049787), (31, 0.5, 0.892521)],
)
def test_a_guess_is_likely_by_its_passages_and_its_edits(
    df: int, cost: float, expected: float
) -> None:
    assert likelihood(df, cost) == pytest.approx(expected, rel=1e-5)


def test_weights_add_up_alike_on_every_python() -> None:
    """3.12 adds floats otherwise than 3.11; a sum that is rounded once is the same in both."""
    weights = [0.1, 0.2, 0.3]
    assert repeated(weights) == repeated(weights[::-1]) == 11 * 0.6 / (10 + 0.6 / 0.3)
