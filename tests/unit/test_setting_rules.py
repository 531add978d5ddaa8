"""What is wrong with a value of a setting."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.base.setting_rules import (
    Fields,
    Flag,
    Items,
    Kinds,
    Nullable,
    Number,
    NumberList,
    NumbersOrOne,
    Rule,
    Scores,
    Text,
    Whole,
)

WHOLE = Whole(1, 5)
SHARE = Number(0, 1)
TEXT = Text(most=3)
METHOD = Text(["minmax", "zscore"])
WORDS = Items(TEXT, most=2)
TIER = Fields({"amount": SHARE, "max_rank": Nullable(WHOLE)}, required=["amount"])
TIERS = Items(TIER, rise="max_rank")
BONUS = Kinds({"none": Fields({}), "tiers": Fields({"tiers": TIERS}, required=["tiers"])})
ONE_TO_FIVE = "expected a whole number from 1 to 5"
AN_OBJECT = "expected an object with keys amount, max_rank"


@pytest.mark.parametrize(
    ("value", "rule", "error"),
    [
        (1, WHOLE, None),
        (5, WHOLE, None),
        (0, WHOLE, ONE_TO_FIVE),
        (6, WHOLE, ONE_TO_FIVE),
        (2.5, WHOLE, ONE_TO_FIVE),
        ("2", WHOLE, ONE_TO_FIVE),
        (True, WHOLE, ONE_TO_FIVE),
        (None, WHOLE, ONE_TO_FIVE),
        (None, Nullable(WHOLE), None),
        (1, SHARE, None),
        (0.5, SHARE, None),
        (1.01, SHARE, "expected a number from 0 to 1"),
        (False, SHARE, "expected a number from 0 to 1"),
        (False, Flag(), None),
        (0, Flag(), "expected true or false"),
        ("abc", TEXT, None),
        ("äöü", TEXT, None),
        ("", TEXT, None),
        ("abcd", TEXT, "expected a text of at most 3 characters"),
        ("zscore", METHOD, None),
        ("z", METHOD, "expected one of minmax, zscore"),
        (7, METHOD, "expected one of minmax, zscore"),
        ([], WORDS, None),
        (["a", "b"], WORDS, None),
        (["a", "b", "c"], WORDS, "expected an array of at most 2 values"),
        ({}, WORDS, "expected an array of at most 2 values"),
        (["a", 1], WORDS, "[2]: expected a text of at most 3 characters"),
        ({"amount": 1}, TIER, None),
        ([], TIER, AN_OBJECT),
        ({}, TIER, 'lacks the key "amount": expected amount'),
        ({"amount": 1, "more": 1}, TIER, 'has no key "more": expected amount, max_rank'),
        ({"x" * 300: 1}, TIER, f'has no key "{"x" * 200}": expected amount, max_rank'),
        ({"amount": 2}, TIER, "amount: expected a number from 0 to 1"),
        ({"amount": 1, "max_rank": 9}, TIER, f"max_rank: {ONE_TO_FIVE}"),
        ([], TIERS, "expected an array of at least one object"),
        ([{"amount": 1}], TIERS, None),
        ([{"amount": 1, "max_rank": 1}, {"amount": 1, "max_rank": 2}], TIERS, None),
        ([{"amount": 1, "max_rank": 1}, {"amount": 1, "max_rank": None}], TIERS, None),
        ([{"amount": 1, "max_rank": 2}, {"amount": 1, "max_rank": 2}], TIERS,
         "expected rising max_rank, none only in the last"),
        ([{"amount": 1}, {"amount": 1, "max_rank": 2}], TIERS,
         "expected rising max_rank, none only in the last"),
        ([{"amount": 1, "max_rank": 1}, {"amount": -1}], TIERS,
         "[2].amount: expected a number from 0 to 1"),
        ({"kind": "none"}, BONUS, None),
        ({"kind": "none", "x": 1}, BONUS, 'has no key "x": expected no more'),
        ({"kind": "top"}, BONUS, 'expected an object with "kind": one of none, tiers'),
        ({}, BONUS, 'expected an object with "kind": one of none, tiers'),
        ({"kind": ["none"]}, BONUS, 'expected an object with "kind": one of none, tiers'),
        ("none", BONUS, 'expected an object with "kind": one of none, tiers'),
        ({"kind": "tiers"}, BONUS, 'lacks the key "tiers": expected tiers'),
        ({"kind": "tiers", "tiers": [{}]}, BONUS,
         'lacks the key "tiers[1].amount": expected amount'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(value: Any, rule: Rule, error: str | None) -> None:
    found = rule.problem(value, "at")
    assert found is None if error is None else found in places(error)


def places(error: str) -> set[str]:
    """The ways an error within an object tells where it stands."""
    quoted = error.replace('key "', 'key "at.')
    return {f"at: {error}", f"at.{error}", f"at{error}", quoted}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "tiers", "amount", "max_rank"]), inner)
    ),
    max_leaves=8,
)


@given(value=ANYTHING)
def test_any_value_has_an_answer(value: Any) -> None:
    for rule in (WHOLE, SHARE, TEXT, METHOD, WORDS, TIER, TIERS, BONUS):
        error = rule.problem(value, "here")
        assert error is None or "expected" in error
        assert value is not None or error is not None


@pytest.mark.parametrize(
    ("value", "rule", "error"),
    [
        ("1", WHOLE, "expected a whole number without a decimal point from 1 to 5"),
        (7, METHOD, "expected one of minmax, zscore"),
        ({"a": 1}, NumberList(["a"], 0, 1), None),
        (1, NumberList(["a"], 0, 1), "expected an object with keys a"),
        ({"b": 1}, NumberList(["a"], 0, 1), 'has no key "b": expected a'),
        ({"a": 2}, NumberList(["a"], 0, 1), "a: expected a number from 0 to 1"),
        (1, NumbersOrOne(["a"], 0, 1), None),
        ("1", NumbersOrOne(["a"], 0, 1), "expected a number or an object with keys a"),
        ({"1": 0.5}, Scores(0, 1), None),
        ({"x": 0.5}, Scores(0, 1), '"x": expected a chunk id with a number from 0 to 1'),
        ([], Scores(0, 1), "expected an object with a score from 0 to 1 for each chunk id"),
    ],
)
def test_a_setting_itself(value: Any, rule: Rule, error: str | None) -> None:
    assert rule.problem(value, "") == error
