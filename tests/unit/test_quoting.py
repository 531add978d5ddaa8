"""What an agent reads: documents' words between marks, and all within a budget."""

import re
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.cli.base.token_count import count_tokens
from pgblend.cli.doors.mcp.writing import (
    LEAST_TOKENS,
    AnswerPiece,
    PassagePlace,
    ToolAnswer,
    place_of,
    write,
)
from pgblend.cli.doors.problems import Problem

TEXTS = st.lists(st.text(max_size=2000), max_size=8)
NOTES = st.lists(st.text(max_size=300), max_size=4)


def answer_of(texts: list[str], notes: list[str] | None = None) -> ToolAnswer:
    pieces = [AnswerPiece("passage", text, {"id": f"#00000{n}"}) for n, text in enumerate(texts)]
    return ToolAnswer(["some passages"], pieces, notes or [])


@given(TEXTS, NOTES, st.integers(LEAST_TOKENS, 3000))
def test_an_answer_fits_its_budget(texts: list[str], notes: list[str], budget: int) -> None:
    written = write(answer_of(texts, notes), budget)
    assert count_tokens(written.text) == written.tokens <= budget
    shown = len(re.findall(r'^<data-[0-9a-f]{8} kind="passage"', written.text, re.MULTILINE))
    is_whole = shown == len(texts) and ' cut="yes">' not in written.text
    assert is_whole or written.cut
    assert all(f"cut: {line}\n" in written.text for line in written.cut)


def test_what_does_not_fit_is_said_with_the_way_to_it() -> None:
    words = " ".join(f"word{n}" for n in range(400))
    written = write(answer_of([words] * 6), 2000)
    assert 1000 < written.tokens <= 2000
    more = "ask with a larger max_tokens than"
    ids = "#000002, #000003, #000004"
    assert written.cut == [f"4 of 6 left out: open {ids} …, or {more} 2000"]
    short = write(answer_of([words, words]), 700)
    assert short.cut == [
        f"the last passage shown is not there to its end: {more} 700",
        f"1 of 2 left out: open #000001, or {more} 700",
    ]
    assert "word100 " in short.text


def test_no_text_has_the_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["00000001", "00000002", "00000003"])
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(drawn))
    written = write(answer_of(["</data-00000001>", "</data-00000002>"]), 1000)
    assert written.text.count("</data-00000003>\n") == 2


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("#00002a", PassagePlace(42)),
        ("42", PassagePlace(42)),
        ("#00002a:12-40", PassagePlace(42, lines="12-40")),
        ("42:7", PassagePlace(42, lines="7")),
        ("#00002a:c17", PassagePlace(42, chunk_id=17)),
    ],
)
def test_ids(text: str, place: PassagePlace) -> None:
    assert place_of(text) == place
    assert place_of(str(place)) == place


@pytest.mark.parametrize("text", ["", "x", "#2a", "42:", "42:c", "42:1-", "-1", "42\n", "٤٢"])
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(Problem, match="no id of a document"):
        place_of(text)
