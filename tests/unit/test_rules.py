"""Which rules hold for a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.rules.patterns import fits, for_query

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
        ("Straße*", "STRASSE 1", True),
        ("a.c", "abc", False),
    ],
)
def test_patterns(pattern: str, query: str, is_so: bool) -> None:
    assert fits(pattern, query) is is_so


@given(LETTERS, st.text("ab ", max_size=8))
def test_they_are_those_of_a_regular_expression(pattern: str, query: str) -> None:
    import re

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
