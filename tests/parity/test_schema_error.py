"""What is wrong with a nested value: the module, and what is deployed of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from pgblend.plpy.settings.schema import schema_error
from support.database import Database

WHOLE = {"type": "integer", "minimum": 1, "maximum": 5}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
TEXT = {"type": "text", "most": 3}
METHOD = {"type": "text", "allowed": ["minmax", "zscore"]}
WORDS = {"type": "array", "most": 2, "items": TEXT}
TIER = {
    "type": "object",
    "required": ["amount"],
    "keys": {"amount": SHARE, "max_rank": {**WHOLE, "nullable": True}},
}
TIERS = {"type": "array", "rise": "max_rank", "items": TIER}
BONUS = {
    "type": "object",
    "kinds": {
        "none": {"keys": {}},
        "tiers": {"keys": {"tiers": TIERS}, "required": ["tiers"]},
    },
}
ONE_TO_FIVE = "expected a whole number from 1 to 5"
AN_OBJECT = "expected an object with keys amount, max_rank"


@pytest.mark.parametrize(
    ("value", "schema", "error"),
    [
        (1, WHOLE, None),
        (5, WHOLE, None),
        (0, WHOLE, ONE_TO_FIVE),
        (6, WHOLE, ONE_TO_FIVE),
        (2.5, WHOLE, ONE_TO_FIVE),
        ("2", WHOLE, ONE_TO_FIVE),
        (True, WHOLE, ONE_TO_FIVE),
        (None, WHOLE, ONE_TO_FIVE),
        (None, {**WHOLE, "nullable": True}, None),
        (1, SHARE, None),
        (0.5, SHARE, None),
        (1.01, SHARE, "expected a number from 0 to 1"),
        (False, SHARE, "expected a number from 0 to 1"),
        (False, {"type": "boolean"}, None),
        (0, {"type": "boolean"}, "expected true or false"),
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
def test_what_is_wrong_is_named(db: Database, value: Any, schema: Any, error: str | None) -> None:
    assert schema_error(value, schema, "") == error
    query = "SELECT pgblend._schema_error(%s, %s)"
    assert db.value(query, Jsonb(value), Jsonb(schema)) == error


def test_the_path_says_where_it_stands() -> None:
    assert schema_error(9, WHOLE, "bonus") == f"bonus: {ONE_TO_FIVE}"
    assert schema_error({"amount": 9}, TIER, "t") == "t.amount: expected a number from 0 to 1"
    assert schema_error({"x": 9}, TIER, "t") == 'has no key "t.x": expected amount, max_rank'
    two = [{"amount": 1}, {"amount": 1}]
    assert schema_error(two, TIERS, "t") == "t: expected rising max_rank, none only in the last"


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
    for schema in (WHOLE, SHARE, TEXT, METHOD, WORDS, TIER, TIERS, BONUS):
        error = schema_error(value, schema, "here")
        assert error is None or "expected" in error
        assert value is not None or error is not None
