"""Filters of frameworks, in pgblend's language."""

import json
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from pgblend.integrations.filters import (
    FilterError,
    from_haystack,
    from_langchain,
    from_llama_index,
)
from pgblend.plpy.base.filters import parse_filter

LANGCHAIN: list[tuple[Any, Any]] = [
    (None, None),
    ({}, None),
    ({"a": 1}, {"a": {"eq": 1}}),
    ({"a": 1, "b": "x"}, {"and": [{"a": {"eq": 1}}, {"b": {"eq": "x"}}]}),
    ({"a": {"$gt": 1, "$lte": 5}}, {"and": [{"a": {"gt": 1}}, {"a": {"lte": 5}}]}),
    ({"a": {"$nin": [1, 2]}}, {"not": {"a": {"in": [1, 2]}}}),
    ({"a": {"$between": [1, 5]}}, {"a": {"gte": 1, "lte": 5}}),
    ({"a": {"$in": ("x",)}}, {"a": {"in": ["x"]}}),
    ({"a": {"$all": ["x", "y"]}}, {"a": {"contains": ["x", "y"]}}),
    ({"a": None}, {"a": {"exists": False}}),
    ({"a": {"$ne": None}}, {"a": {"exists": True}}),
    ({"a": {"$exists": True}}, {"a": {"exists": True}}),
    ({"a": {"$not": {"$gt": 1}}}, {"not": {"a": {"gt": 1}}}),
    ({"$not": {"a": 1}}, {"not": {"a": {"eq": 1}}}),
    ({"$or": [{"a": 1}, {"b": 2}]}, {"or": [{"a": {"eq": 1}}, {"b": {"eq": 2}}]}),
    ({"d": {"$gte": date(2026, 1, 31)}}, {"d": {"gte": "2026-01-31"}}),
    (
        {"d": {"$lt": datetime(2026, 1, 31, 12, tzinfo=UTC)}},
        {"d": {"lt": "2026-01-31T12:00:00+00:00"}},
    ),
    ({"$uri": "a.md"}, {"$uri": {"eq": "a.md"}}),  # a built-in field
    ({"or": 1}, {"$metadata.or": {"eq": 1}}),  # metadata of that name
]


def filters(condition: str | None, *parts: Any) -> Any:
    return SimpleNamespace(filters=list(parts), condition=condition)


def one(key: str, operator: str, value: Any) -> Any:
    return SimpleNamespace(key=key, operator=operator, value=value)


LLAMA_INDEX: list[tuple[Any, Any]] = [
    (None, None),
    (filters("and"), None),
    (filters("and", one("a", "==", 1)), {"a": {"eq": 1}}),
    (filters(None, one("a", ">", 1), one("b", "!=", "x")),
     {"and": [{"a": {"gt": 1}}, {"b": {"ne": "x"}}]}),
    (filters("or", one("a", "nin", [1]), one("b", "any", ["x"])),
     {"or": [{"not": {"a": {"in": [1]}}}, {"b": {"in": ["x"]}}]}),
    (filters("not", one("a", "all", ["x", "y"])), {"not": {"a": {"contains": ["x", "y"]}}}),
    (filters("not", one("a", "==", 1), one("b", "==", 2)),
     {"not": {"or": [{"a": {"eq": 1}}, {"b": {"eq": 2}}]}}),
    (filters("and", filters("or", one("a", "<=", 1), one("a", "contains", "x")), one("b", "<", 2)),
     {"and": [{"or": [{"a": {"lte": 1}}, {"a": {"contains": "x"}}]}, {"b": {"lt": 2}}]}),
]  # fmt: skip


def compared(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


HAYSTACK: list[tuple[Any, Any]] = [
    (None, None),
    ({}, None),
    (compared("meta.a", "==", 1), {"a": {"eq": 1}}),
    (compared("a", "not in", [1]), {"not": {"a": {"in": [1]}}}),
    (compared("meta.a.b", ">=", "2026-01-31"), {"a.b": {"gte": "2026-01-31"}}),
    (compared("meta.a", "!=", None), {"a": {"exists": True}}),
    (compared("id", "in", ["x"]), {"$source_key": {"in": ["x"]}}),
    ({"operator": "AND", "conditions": [
        compared("meta.a", "<", 1),
        {"operator": "OR", "conditions": [compared("meta.b", "<=", 2), compared("c", ">", 3)]}]},
     {"and": [{"a": {"lt": 1}}, {"or": [{"b": {"lte": 2}}, {"c": {"gt": 3}}]}]}),
    ({"operator": "NOT", "conditions": [compared("meta.a", "==", 1), compared("b", "==", 2)]},
     {"not": {"and": [{"a": {"eq": 1}}, {"b": {"eq": 2}}]}}),
]  # fmt: skip

CASES = [
    (translate, *case)
    for translate, cases in (
        (from_langchain, LANGCHAIN), (from_llama_index, LLAMA_INDEX), (from_haystack, HAYSTACK),
    )
    for case in cases
]  # fmt: skip


@pytest.mark.parametrize(("translate", "given", "expected"), CASES)
def test_a_filter_is_translated(translate: Any, given: Any, expected: Any) -> None:
    assert translate(given) == expected
    if expected:
        parse_filter(json.dumps(expected))  # is one


@pytest.mark.parametrize(
    ("translate", "given", "named"),
    [
        (from_langchain, {"a": {"$regex": "x"}}, r"'\$regex' on 'a' has no counterpart"),
        (from_langchain, {"a": {"gte": 1}}, "'gte' on 'a' has no counterpart in pgblend: expected"),
        (from_langchain, {"a": {"$between": 1}}, r"\$between on 'a' is 1: expected two values"),
        (from_langchain, {"$nor": [{"a": 1}]}, r"'\$nor' has no counterpart"),
        (from_langchain, {"$and": {"a": 1}}, r"\$and is \{'a': 1\}: expected a list"),
        (from_langchain, {"$not": [1]}, r"\$not is \[1\]: expected a filter"),
        (from_langchain, {"a": 1j}, "1j is of type complex"),
        (from_langchain, {"a": {"$gt": None}}, "None is of type NoneType"),
        (from_llama_index, filters("and", one("a", "text_match", "x")), "'text_match' on 'a'"),
        (from_llama_index, filters("and", one("a", "is_empty", None)), "'is_empty' on 'a'"),
        (from_llama_index, filters("xor", one("a", "==", 1), one("b", "==", 1)), "'xor' has no"),
        (from_haystack, compared("content", "==", "x"), "field 'content' has no counterpart"),
        (from_haystack, compared("meta.a", "~", "x"), "'~' on 'a' has no counterpart"),
        (from_haystack, {"field": "a", "value": 1}, "has no 'operator'"),
        (from_haystack, {"operator": "AND"}, "has no 'conditions'"),
        (from_haystack, {"operator": "XOR", "conditions": []}, "'xor' has no counterpart"),
    ],
)
def test_what_has_no_counterpart_is_an_error_that_names_it(
    translate: Any, given: Any, named: str
) -> None:
    with pytest.raises(FilterError, match=named):
        translate(given)
