"""parse_filter, compile_filter and filter_alternatives without a server."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest

from pgblend.plpy.base.filters import parse_filter
from pgblend.plpy.lexical.filter import compile_filter, filter_alternatives

HOSTILE = ["'; DROP TABLE x; --", '"', "$1", "%s", "\\", "{}", "a.b'", "é"]


def compiled(conditions: dict[str, Any]) -> tuple[str, list[str]]:
    return compile_filter(parse_filter(json.dumps(conditions)), 3, False)


def alternatives(conditions: dict[str, Any]) -> tuple[list[str], Any, Any]:
    keys, whole, singles = filter_alternatives(parse_filter(json.dumps(conditions)))
    return keys, *(texts and [json.loads(text) for text in texts] for texts in (whole, singles))


def test_trees() -> None:
    assert parse_filter("{}") == ("and", [])
    assert parse_filter('{"a": 1.50}') == ("eq", "a", "metadata", Decimal("1.50"))
    assert parse_filter('{"a": {"gte": "2026-01-31", "contains": 1}}') == (
        "and",
        [
            ("gte", "a", "metadata date", "2026-01-31"),
            ("contains", "a", "metadata", [Decimal(1)]),
        ],
    )
    assert parse_filter('{"$metadata.a": {"gt": 1, "in": [2], "lt": 3}}') == (
        "and",
        [
            ("in", "a", "metadata", [Decimal(2)]),
            ("all", "a", "metadata", [("gt", "a", "metadata", 1), ("lt", "a", "metadata", 3)]),
        ],
    )
    assert parse_filter('{"not": {"or": [{"$metadata.not": "x"}, {"$uri": "y"}]}}') == (
        "not",
        ("or", [("eq", "not", "metadata", "x"), ("eq", "$uri", "text", "y")]),
    )


@pytest.mark.parametrize(
    "text",
    [
        "[]", "1", '{"a": null}', '{"a": []}', '{"a": {}}', '{"a": {"x": 1}}', '{"$a": 1}',
        '{"and": 1}', '{"not": []}', '{"a": {"in": 1}}', '{"$date": 1}', '{"$chunk_id": "a"}',
        '{"$date": "2026-02-29"}', '{"$date": "2026-00-01"}', '{"a": {"exists": 1e400}}',
        '{"a": {"exists": 1.5}}',
    ],
)  # fmt: skip
def test_errors_say_what_and_what_to_do(text: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        parse_filter(text)
    message, hint = caught.value.args
    assert message.startswith("filter")
    assert "expected" in message
    assert hint


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_the_filter_is_in_the_condition(text: str) -> None:
    leaves: list[dict[str, Any]] = [
        {f"$metadata.{text}": {"eq": text, "in": [text], "contains": text, "lt": text}},
        {"$uri": {"prefix": text, "ne": text, "gt": text}, "$collection": text},
    ]
    condition, operands = compiled({"or": leaves})
    assert operands.count(text) >= 7
    words = set(re.sub(r"'(?:string|array|null|\{\}|24:00)'", "", condition).split("($3)"))
    assert not any(part and text in part for part in words if text not in ('"', "{}", "$1"))


def test_every_operand_is_referred_to_once() -> None:
    condition, operands = compiled(
        {
            "a.b.c": {"lt": "2026-01-31", "in": [1, "x"], "exists": False, "prefix": "p"},
            "d": {"gte": 1, "lt": "x", "prefix": "y"},
            "$date": {"in": ["2026-01-31", "2026-01-31T10:00"], "gt": "2026-01-31"},
            "$document_id": {"in": [1, 2], "gte": 1},
            "$ingested_at": {"exists": True, "lte": "2026-01-31 10:00+01"},
            "or": [],
        }
    )
    places = [int(place) for place in re.findall(r"\(\$3\)\[(\d+)\]", condition)]
    assert sorted(set(places)) == list(range(1, len(operands) + 1))
    assert "2026-01-31 10:00+01" in operands
    assert "2026-01-31T10:00Z" in operands


# What has a key with a value, or with an array that has it.
A = [{"a": 1}, {"a": [1]}]
B = [{"b": 2}, {"b": [2]}]
ALONG = [{"b": 1}, [{"b": 1}], {"b": [1]}, [{"b": [1]}]]
DEEP = [{"a.b": 1}, {"a.b": [1]}, *({"a": way} for way in ALONG)]


@pytest.mark.parametrize(
    ("conditions", "keys", "whole", "singles"),
    [
        ({}, [], None, None),
        ({"$uri": "x"}, [], None, None),
        ({"a": {"gt": 1}}, ["a"], None, None),
        ({"a": 1}, ["a"], A, A),
        ({"a": {"in": [1, 2]}}, ["a"], [*A, {"a": 2}, {"a": [2]}], [*A, {"a": 2}, {"a": [2]}]),
        ({"a": {"in": []}}, ["a"], [], []),
        ({"a": {"contains": 1}}, ["a"], [{"a": [1]}], [{"a": [1]}]),
        (
            {"a": 1, "b": {"contains": 2}},
            ["a", "b"],
            [{"a": 1, "b": [2]}, {"a": [1], "b": [2]}],
            [{"b": [2]}, *A],
        ),
        ({"a": {"eq": 1, "in": [1, 2]}}, ["a"], A, A),
        ({"a": {"eq": 1, "gt": 0}, "$uri": "x"}, ["a"], A, A),
        ({"a.b": 1}, ["a", "a.b"], DEEP, DEEP),
        # Elements of an array may have one of several values each.
        (
            {"a.b": {"contains": [1, 2]}},
            ["a", "a.b"],
            [{"a.b": [1, 2]}, *DEEP[2:]],
            [{"a.b": [1, 2]}, *DEEP[2:]],
        ),
        ({"a.b": {"contains": []}}, ["a", "a.b"], None, None),
        ({"a.b.c.d.e": 1}, ["a", "a.b.c.d.e"], None, None),
        ({"or": [{"a": 1}, {"b": 2}]}, ["a", "b"], [*A, *B], [*A, *B]),
        ({"or": [{"a": 1}, {"$uri": "x"}]}, ["a"], None, None),
        ({"or": []}, [], [], []),
        ({"not": {"a": 1}}, ["a"], None, None),
        ({"not": {"a": 1}, "b": 2}, ["a", "b"], B, B),
    ],
    ids=str,
)
def test_alternatives(
    conditions: dict[str, Any], keys: list[str], whole: Any, singles: Any
) -> None:
    assert alternatives(conditions) == (keys, whole, singles)


def test_alternatives_stay_few() -> None:
    many = {"in": list(range(900))}
    assert len(alternatives({"a": many, "b": {"in": [1, 2]}})[1]) == 4
    assert len(alternatives({"a": many, "b": {"contains": 1}})[1]) == 1800
    assert alternatives({"or": [{"a": many}, {"b": many}]})[1] is None
