"""Tokens of parts of a text that is encoded once."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgblend.cli.base import token_count
from pgblend.cli.base.token_count import TokenSpans, count_tokens, encode, piece_tokens, token_bytes

WORDS = ["a", "word", "1042", "Über", "'s", "...", "(x)", "漢字", "\U0001f600", "\x1c", "é" * 9]
GAPS = ["", " ", " ", " ", "  ", "\n", "\n\n", " \n ", "\t", "\u3000", "\x85"]
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), max_size=30).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


@settings(max_examples=300)
@given(TEXTS, st.data())
@example("one two\nthree", None)
def test_a_part_has_the_tokens_that_it_has_alone(text: str, data: st.DataObject | None) -> None:
    if data is None:
        places = [0, 2, 9, len(text)]
    else:
        places = sorted(data.draw(st.integers(0, len(text))) for _ in range(4))
    begin, start, end, stop = places
    spans = TokenSpans(text, begin, stop)
    assert spans.count(start, end) == count_tokens(text[start:end])
    content = text[start:end].strip()
    if content:
        place = text.index(content, start)
        assert piece_tokens(content, 0, spans, place) == piece_tokens(content)


@given(TEXTS)
def test_a_token_that_ends_inside_a_character_ends_before_it(text: str) -> None:
    whole = text.encode()
    ends, data = [], b""
    for token in encode(text):
        data += token_bytes(token)
        ends.append(len(whole[: len(data)].decode(errors="ignore")))
    assert token_count.token_ends(text) == ends


@pytest.mark.parametrize("size", [7, 20])
def test_blocks_end_between_words(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(token_count, "_BLOCK_CHARACTERS", size)
    monkeypatch.setattr(token_count, "_BLOCK_END_CHARACTERS", 6)
    text = "some words and onelongwordwithoutanyspace in a row, and 漢字漢字漢字漢字漢字漢字 too"
    spans = TokenSpans(text)
    for start in range(len(text)):
        for end in range(start, len(text) + 1, 5):
            assert spans.count(start, end) == count_tokens(text[start:end])
