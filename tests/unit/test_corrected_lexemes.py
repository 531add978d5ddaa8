import pytest

from pgblend.plpy.search.lists import corrected_lexemes
from pgblend.plpy.session import Json


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ({}, ()),
        ({"method": "word_similarity"}, ()),
        ({"corrections": {"brwon": ["brown", "brow"], "x": ["y"]}}, ("brown", "brow", "y")),
    ],
)
def test_the_fuzzy_arm_s_lexemes_in_order(note: dict[str, Json], expected: tuple[str, ...]) -> None:
    assert corrected_lexemes(note) == expected
