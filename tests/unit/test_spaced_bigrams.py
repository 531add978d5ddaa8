import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.lexical.words import spaced_bigrams

SCRIPTS = "東京都の大きいカー々一ที่เก่าน้ำນ້ຳມາမြန်မာភាសាខ្មែរ한국어는"


def words(text: str) -> list[str]:
    return spaced_bigrams(text).split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (
            "plain wörds, Ελληνικά и русский 한국어",
            ["plain", "wörds,", "Ελληνικά", "и", "русский", "한국", "국어"],
        ),
        ("東京都", ["東京", "京都"]),
        ("京", ["京"]),
        ("東京。京都", ["東京", "。", "京都"]),
        ("カーの", ["カー", "ーの"]),
        ("SQL数据库x", ["SQL", "数据", "据库", "x"]),
        ("서울은 SQL의 책", ["서울", "울은", "SQL", "의", "책"]),
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),
        ("ที่นี่เก่า", ["ที่นี่", "นี่เก่า"]),  # syllables, not single marks
        ("๑๒๓", ["๑๒๓"]),  # digits are words already
        ("မြန်မာ", ["မြန်", "န်မာ"]),
        ("ភាសាខ្មែរ", ["ភាសា", "សាខ្មែ", "ខ្មែរ"]),
        ("ABC 2024 12 31 の文\n書を", ["ABC", "2024", "12", "31", "の文", "文書", "書を"]),
        ("東京\n大阪", ["東京", "大阪"]),  # a list
        ("ABC 2024 12 31 の文\n\n書を", ["ABC", "2024", "12", "31", "の文", "書を"]),
        ("ABC 2024 12 31 한국\n어는", ["ABC", "2024", "12", "31", "한국", "어는"]),
    ],
)
def test_pairs(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(st.characters(max_codepoint=0x0DFF)))
def test_other_scripts_stay(text: str) -> None:
    assert spaced_bigrams(text) == text


@given(st.text(st.sampled_from(SCRIPTS), min_size=1), st.text(st.sampled_from(SCRIPTS)))
def test_a_part_of_han_text_has_its_pairs(before: str, after: str) -> None:
    assert {"数据", "据库"} <= set(words(f"{before}数据库{after}"))
