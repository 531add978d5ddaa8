import pytest

from pgblend.plpy.base.session import Json
from pgblend.plpy.search.candidates import corrected_lexemes


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
