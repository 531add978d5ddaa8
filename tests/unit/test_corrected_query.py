import pytest

from pgblend.plpy.search.lists import corrected_query


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ({}, "a brwon fox"),
        ({"lexical": {"rank": 1}}, "a brwon fox"),
        ({"fuzzy": {"rank": 1}}, "a brwon fox"),  # by word_similarity
        ({"fuzzy": {"corrections": {"brwon": ["brown", "brow"]}}}, "brown brow a brwon fox"),
        ({"fuzzy": {"corrections": {"x": ['-"y', "a-b"]}}}, "  y a b a brwon fox"),
    ],
)
def test_corrections_come_before_the_query(arms: dict[str, object], expected: str) -> None:
    assert corrected_query("a brwon fox", arms) == expected  # type: ignore[arg-type]


def test_there_may_be_no_query() -> None:
    assert corrected_query(None, {"vector": {"rank": 1}}) == ""
