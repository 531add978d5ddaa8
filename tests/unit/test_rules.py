"""Which rules hold for a query."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.lexical.synonyms import StandIn, stand_in_weights, told_stand_ins
from pgblend.plpy.search.rule_patterns import fits, for_query
from pgblend.plpy.search.rules import share_left

LETTERS = st.text("ab* ", max_size=8)


@pytest.mark.parametrize(
    ("pattern", "query", "is_so"),
    [
        ("Red Lamp", " red   LAMP ", True),
        ("red", "red lamp", False),
        ("red*", "red lamp", True),
        ("*lamp", "red lamp", True),
        ("*", "", True),
        ("", "", True),
        ("a*a", "a", False),
        ("*b*a*", "abab", True),
        ("ab*ab", "ab", False),
        ("*ab*b*", "ab", False),
        ("Straße*", "STRASSE 1", True),
        ("a.c", "abc", False),
    ],
)
def test_patterns(pattern: str, query: str, is_so: bool) -> None:
    assert fits(pattern, query) is is_so


@given(LETTERS, st.text("ab ", max_size=8))
def test_they_are_those_of_a_regular_expression(pattern: str, query: str) -> None:
    wanted = "(?s)" + ".*".join(map(re.escape, " ".join(pattern.split()).split("*")))
    assert fits(pattern, query) is bool(re.fullmatch(wanted, " ".join(query.split())))


def test_a_long_query_takes_no_long_time() -> None:
    """No way back: each part is looked for once."""
    assert not fits("*a" * 400 + "*b", "a" * 1_000_000)


def test_documents_are_named_once_with_the_first_pattern() -> None:
    rules = [
        {"query": "a*", "documents": ["x", "y"]},
        {"query": "b", "documents": ["z"]},
        {"query": "*", "documents": ["w", "x"]},
    ]
    assert for_query(rules, "ab") == {"x": "a*", "y": "a*", "w": "*"}  # type: ignore[arg-type]
    assert for_query(rules, None) == {"w": "*", "x": "*"}  # type: ignore[arg-type]


def test_a_synonym_weighs_what_it_stands_for_at_most() -> None:
    idf = {"tv": 2.0, "telly": 9.0, "set": 1.0, "box": 0.0}
    rare = StandIn("tv", ("tv",), "telly", ("telly",), 1.0)
    assert stand_in_weights([rare], ["tv"], idf) == {"telly": 2.0}
    assert stand_in_weights([rare._replace(weight=0.5)], ["tv"], idf) == {"telly": 1.0}
    known = StandIn("telly", ("telly",), "tv", ("tv",), 1.0)
    assert stand_in_weights([known], ["telly"], idf) == {"tv": 2.0}
    assert stand_in_weights([known._replace(is_same=True)], ["telly"], idf) == {"tv": 9.0}
    common = StandIn("telly", ("telly",), "tv set", ("tv", "set"), 1.0)
    assert stand_in_weights([common], ["telly"], idf) == {"tv": 2.0, "set": 1.0}
    assert stand_in_weights([common], ["telly", "set"], idf) == {"tv": 2.0}
    nothing = StandIn("tv", ("tv",), "box", ("box",), 1.0)
    assert stand_in_weights([nothing], ["tv"], idf) == {"box": 0.0}
    told = told_stand_ins([rare, rare, rare._replace(text="box")])
    assert told == {"tv": ["telly", "box"]}


@pytest.mark.parametrize("shape", ["exp", "gauss", "linear"])
def test_half_is_left_at_half(shape: str) -> None:
    decay: Any = {"field": "a", "origin": 0, "half": 10, "shape": shape}
    assert share_left(decay, 0) == 1
    assert share_left(decay, 10) == 0.5
    assert share_left(decay | {"flat": 5}, 15) == 0.5
    assert 0 <= share_left(decay, 1e300) < 1e-9
    assert share_left(decay | {"least": 0.2}, 1e300) == 0.2
    lefts = [share_left(decay, distance) for distance in range(100)]
    assert lefts == sorted(lefts, reverse=True)
