# ruff: noqa: RUF001

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgblend.cli.base.token_count import count_tokens, encode, token_ends
from pgblend.plpy.lexical.split_text import approximate_tokens, split_text

COUNTERS = {
    "cl100k": (count_tokens, token_ends),
    "cl100k without offsets": (count_tokens, None),
    "approximate": (approximate_tokens, None),
    "characters": (len, None),
}
SEPARATORS = (
    "\n\n",
    "\n",
    " ",
    ". ",
    "? ",
    "; ",
    "\t",
    "\r\n",
    "   \n \n",
    "\u200b",
    "。",
    "！」",
    "；",
)
WORDS = ("word", "A sentence of words", "1234567", "x" * 50, "föhn", "漢字かな", "e\u0301\u0302")
SIGNS = ("👩\u200d👩\u200d👧", "🇩🇪")
PIECES = st.sampled_from(SEPARATORS + WORDS + SIGNS)
TEXTS = st.one_of(
    st.text(max_size=300), st.lists(PIECES, max_size=120).map("".join), st.just("a" * 700)
)


def own_texts(rows):
    return [row["content"][row["own_start"] :] for row in rows]


def without_space(text):
    return "".join(text.split())


@pytest.mark.parametrize("counter", COUNTERS)
@given(
    text=TEXTS, chunk_size=st.integers(8, 60), share=st.floats(0, 0.9), min_size=st.integers(0, 30)
)
@example(text="", chunk_size=8, share=0, min_size=0)
@example(text="\n" * 50, chunk_size=8, share=0, min_size=0)
@settings(max_examples=80)
def test_invariants(counter, text, chunk_size, share, min_size):
    count, ends = COUNTERS[counter]
    overlap = int(chunk_size * share)
    given = (text, count, chunk_size, overlap, min_size, ends and ends(text))
    rows = split_text(*given)
    assert rows == split_text(*given)
    assert without_space("".join(own_texts(rows))) == without_space(text)
    position = 0
    for row in rows:
        start, end = row["start_offset"], row["end_offset"]
        own_start = start + row["own_start"]
        assert row["content"] == text[start:end]
        assert position <= own_start < end
        assert not text[position:own_start].strip()
        assert not text[own_start].isspace()
        assert not text[end - 1].isspace()
        assert row["token_count"] == count(row["content"])
        assert row["token_count"] <= chunk_size or end - own_start == 1
        assert row["start_line"] == text.count("\n", 0, start) + 1
        assert row["end_line"] == text.count("\n", 0, end) + 1
        position = end


def test_short_text_is_one_chunk():
    assert split_text("  One line.\n", count_tokens) == [
        {
            "content": "One line.",
            "own_start": 0,
            "start_offset": 2,
            "end_offset": 11,
            "start_line": 1,
            "end_line": 1,
            "token_count": 3,
        }
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aaaa aaaa.\n\nbbbb\nbbbb", ["aaaa aaaa.", "bbbb\nbbbb"]),
        ("aaaa aaaa\nbbbb. bbbb", ["aaaa aaaa", "bbbb. bbbb"]),
        ("aa bb. cccc dddd", ["aa bb.", "cccc dddd"]),
        ("aa bb? cccc dddd", ["aa bb?", "cccc dddd"]),
        ("aa bb! cccc dddd", ["aa bb!", "cccc dddd"]),
        ("aa bb; cccc dddd", ["aa bb;", "cccc dddd"]),
        ("aaaa.aaaa bbbb.bbbb", ["aaaa.aaaa", "bbbb.bbbb"]),
        ("一二三四五六。七八九十一二三", ["一二三四五六。", "七八九十一二三"]),
        ("一二三 四五六？七八九十一二三", ["一二三 四五六？", "七八九十一二三"]),
        ("「一二三四！」「五六七八九十」", ["「一二三四！」", "「五六七八九十」"]),
        ("一二三四；五六。七八九十！？一二", ["一二三四；五六。", "七八九十！？一二"]),
        ("一二三。四五六. 七八九十一", ["一二三。四五六.", "七八九十一"]),
        ("一二。三四五六七八九十一二三四五", ["一二。三四五六七八九十一", "二三四五"]),
    ],
)
def test_coarsest_separator_wins(text, expected):
    rows = split_text(text, len, chunk_size=12, overlap=0, min_size=0)
    assert [row["content"] for row in rows] == expected


def test_small_segments_are_merged_up_to_the_size():
    text = "\n\n".join(f"Item {number}." for number in range(100))
    rows = split_text(text, count_tokens, 50, 0, 10, token_ends(text))
    assert all(40 <= row["token_count"] <= 50 for row in rows[:-1])


def test_full_size_for_the_first_chunk_and_for_a_text_that_fits():
    text = " ".join(["word"] * 400)
    assert count_tokens(text) == 400
    assert [row["token_count"] for row in split_text(text, count_tokens)] == [400]


def test_overlap_is_the_end_of_the_text_before_and_begins_at_a_word():
    text = " ".join(f"alpha{number}" for number in range(1000))
    rows = split_text(text, count_tokens, token_ends=token_ends(text))
    for before, row in pairwise(rows):
        overlap = row["content"][: row["own_start"]]
        assert text[: before["end_offset"]].endswith(overlap.rstrip())
        assert 70 <= count_tokens(overlap.rstrip()) <= 80
        assert overlap.startswith("alpha")


def test_piece_under_the_minimum_joins_the_next_even_if_the_overlap_shrinks():
    heading, paragraph = " ".join(["Heading"] * 30), " ".join(["word"] * 310)
    last = " ".join(["last"] * 200)
    text = f"{' '.join(['first'] * 399)}\n\n{heading}\n\n{paragraph}\n\n{last}"
    own = own_texts(split_text(text, count_tokens, token_ends=token_ends(text)))
    assert own[1:] == [f"{heading}\n\n{paragraph}", last]


def test_last_piece_under_the_minimum_joins_the_one_before():
    text = " ".join(["word"] * 380) + "\n\nThe end."
    assert len(split_text(text, count_tokens, token_ends=token_ends(text))) == 1
    text = f"{' '.join(['first'] * 390)}\n\n{' '.join(['word'] * 310)}\n\nThe end."
    rows = split_text(text, count_tokens, token_ends=token_ends(text))
    assert own_texts(rows)[-1].endswith("word\n\nThe end.")
    assert rows[-1]["token_count"] <= 400


@pytest.mark.parametrize("sign", ["👩\u200d👩\u200d👧\u200d👦", "e\u0301\u0323", "👍🏽", "नि"])
def test_hard_split_keeps_signs_whole(sign):
    text = sign * 500
    for row in split_text(text, count_tokens, 50, 10, 0, token_ends(text)):
        start, end = row["start_offset"], row["end_offset"]
        own_start = start + row["own_start"]
        assert (start % len(sign), own_start % len(sign), end % len(sign)) == (0, 0, 0)


def test_one_endless_sign_is_cut_all_the_same():
    text = "e" + "\u0301" * 5000
    rows = split_text(text, count_tokens, token_ends=token_ends(text))
    assert len(rows) > 5
    assert all(row["token_count"] <= 400 for row in rows)


@pytest.mark.parametrize(("size", "overlap"), [(400, 400), (400, -1), (0, 0)])
def test_impossible_sizes(size, overlap):
    with pytest.raises(ValueError, match=f"overlap must be from 0 to chunk_size - 1 .{size - 1}"):
        split_text("text", len, size, overlap)


@pytest.mark.slow
@pytest.mark.parametrize("with_ends", [True, False])
@pytest.mark.parametrize(
    "unit", ["a", "\n", " ", "word ", "A sentence. ", "a\n", "😀", "e\u0301", "ab,12\t", "漢字"]
)
def test_work_grows_with_the_length_only(unit, with_ends):
    """10 MB of one kind must not take hours: each character is counted a few times at most."""
    text = unit * (100_000 // len(unit))
    counted = []

    def count(part):
        counted.append(len(part))
        return count_tokens(part)

    split_text(text, count, token_ends=token_ends(text) if with_ends else None)
    assert sum(counted) <= 4 * len(text)


@given(text=st.text(max_size=400))
def test_token_ends_are_those_of_cl100k(text):
    ends = token_ends(text)
    assert len(ends) == len(encode(text))
    assert ends == sorted(ends)
    assert not text or ends[-1] == len(text)


def test_token_ends_of_ascii_and_of_parts_of_characters():
    assert token_ends("hello world, again") == [5, 11, 12, 18]
    text = "a😀b"  # the emoji is several tokens
    assert token_ends(text)[0] == 1
    assert token_ends(text)[-2:] == [2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog near the old river bank. " * 20,
        "def count(items):\n    return sum(1 for item in items if item.value > 10)\n" * 20,
        "Die Würde des Menschen ist unantastbar. Sie zu schützen ist Verpflichtung aller. " * 20,
        "Москва является столицей Российской Федерации и крупнейшим городом страны. " * 20,
        "机器学习是人工智能的一个分支。它使用数据和算法来模仿人类学习的方式。" * 20,
        "12345 678 90 1,234.56\n" * 50,
    ],
)
def test_approximate_tokens_is_near_cl100k(text):
    assert approximate_tokens(text) == pytest.approx(count_tokens(text), rel=0.25)


@given(text=st.text(max_size=200))
def test_approximate_tokens_bounds(text):
    assert (approximate_tokens(text) == 0) == (text == "")
    assert approximate_tokens(text) <= 3 * len(text.encode("utf-8", "surrogatepass"))


def test_every_unicode_category_is_counted():
    characters = {unicodedata.category(chr(code)): chr(code) for code in range(0x3000)}
    assert all(approximate_tokens(character) >= 1 for character in characters.values())
