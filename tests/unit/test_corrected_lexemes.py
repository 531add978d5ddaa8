import pytest

from pgblend.plpy.search.lists import corrected_lexemes


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ({}, ()),
        ({"lexical": {"rank": 1}}, ()),
        ({"fuzzy": {"rank": 1}}, ()),  # by word_similarity
        (
            {"fuzzy": {"corrections": {"brwon": ["brown", "brow"], "x": ["y"]}}},
            ("brown", "brow", "y"),
        ),
    ],
)
def test_the_fuzzy_arm_s_lexemes_in_order(
    arms: dict[str, dict[str, object]], expected: tuple[str, ...]
) -> None:
    assert corrected_lexemes(arms) == expected
