# ruff: noqa: RUF001

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

# A text in PostgreSQL holds any character but NUL and halves of surrogate pairs.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=400)
PIECES = st.sampled_from(
    ['"', "-", "or", " ", "word", "two words", "\n", "--", "é", "'", "\\", "%"]
)
COUNTS = settings(max_examples=60)


PROSE = 'what modules "match" -dash or do not ? we need a formal proof of "type correct" programs.'
PLAIN = "what modules match dash or do not ? we need a formal proof of type correct programs."


def group(words: str = "", phrases: str = "", excluded: str = "") -> dict[str, list[str]]:
    """Split at bars."""
    names = ("words", "phrases", "excluded")
    texts = (words, phrases, excluded)
    return {name: text.split("|") if text else [] for name, text in zip(names, texts, strict=True)}


@pytest.mark.parametrize(
    ("query", "words", "groups"),
    [
        ("", "", []),
        (" \t\n", "", []),
        ("a b", "a b", [group("a|b")]),
        ('a "b c" -de', "a b c", [group("a", "b c", "de")]),
        (
            "ls -l -1 --all -Dx=1 - -- a",
            "ls -l -1 --all -Dx=1 - -- a",
            [group("ls|-l|-1|--all|-Dx=1|-|--|a")],
        ),
        ("rm —force", "rm --force", [group("rm|--force")]),
        ("“b c” «d» ‘e f’ don’t", "b c d e f don’t", [group("don’t", "b c|d|e f")]),
        ('("b c") 5" d', '( b c ) 5" d', [group('(|)|5"|d', "b c")]),
        ('-"b c"', "", [group("", "", "b c")]),
        ("a or b", "a b", [group("a"), group("b")]),
        ("a OR b or", "a b", [group("a"), group("b")]),
        ("or or a", "a", [group("a")]),
        ("or", "", []),
        ('"or"', "or", [group("", "or")]),
        ("order", "order", [group("order")]),
        ('"never closed', "never closed", [group("", "never closed")]),
        ("a - b", "a - b", [group("a|-|b")]),
        ("--a", "--a", [group("--a")]),
        ("a-b", "a-b", [group("a-b")]),
        ("🦊 naïve", "🦊 naïve", [group("🦊|naïve")]),
        (PROSE, PLAIN, [group(PLAIN.replace(" ", "|"))]),
        (PROSE.replace("?", "").rstrip("."), None, None),  # no sentence ends
        ('a b c d e f g h i "j" k.', "a b c d e f g h i j k.", None),  # ten words have operators
        ('a b c d e f g h i j "k. l" -m', None, None),
    ],
)
def test_query_groups(functions: Any, query: str, words: str, groups: list[Any] | None) -> None:
    found = functions.query_groups(query)
    if groups is None:
        assert any(one["phrases"] for one in found["groups"])
    else:
        assert found == {"words": words, "groups": groups}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("word", 1), ("some words here", 3), ("\n\n\n", 1), ("1234567", 3), ("漢字", 3)],
)
def test_approximate_tokens(functions: Any, text: str, tokens: int) -> None:
    assert functions.approximate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "sizes", "contents"),
    [
        ("", (400, 80, 40), []),
        (" \n ", (400, 80, 40), []),
        ("one two", (400, 80, 40), ["one two"]),
        ("One here.\n\nTwo there.", (8, 0, 0), ["One here.\n\nTwo there."]),
        ("One here.\n\nTwo there.\n\nThree anywhere.", (8, 0, 0), None),
        ("🦊" * 30, (8, 0, 0), None),
        ("「一二三四！」「五六七八。」", (12, 0, 0), ["「一二三四！」", "「五六七八。」"]),
    ],
)
def test_split_text(functions: Any, text: str, sizes: tuple[int, ...], contents: Any) -> None:
    rows = functions.split_text(text, *sizes)
    found = [row["content"] for row in rows]
    if contents is None:
        assert len(rows) > 1
        assert all(row["content"] == text[row["start_offset"] : row["end_offset"]] for row in rows)
    else:
        assert found == contents


@given(query=st.one_of(TEXTS, st.lists(PIECES, max_size=30).map("".join)))
@COUNTS
def test_same_query_groups(both: Any, query: str) -> None:
    python, deployed = both("query_groups")
    assert deployed(query) == python(query)


@given(text=TEXTS)
@COUNTS
def test_same_tokens(both: Any, text: str) -> None:
    python, deployed = both("approximate_tokens")
    assert deployed(text) == python(text)


@given(text=TEXTS, size=st.integers(8, 60))
@COUNTS
def test_same_chunks(both: Any, text: str, size: int) -> None:
    python, deployed = both("split_text")
    assert deployed(text, size, size // 4, 5) == python(text, size, size // 4, 5)


def test_the_session_keeps_what_it_has_loaded(both: Any) -> None:
    _, deployed = both("query_groups")
    assert deployed("a") == deployed("a")  # the second call finds the function in SD
