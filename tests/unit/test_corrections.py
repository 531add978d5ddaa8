"""How likely a correction is."""

from decimal import ROUND_HALF_UP, Context, Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from pgblend.plpy.lexical.corrections import power_of_two_fifths


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
