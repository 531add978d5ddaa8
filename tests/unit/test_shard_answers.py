"""What a shard may answer that is no answer: it is left out, with the reason."""

import json

import pytest

from pgblend.plpy.shards.trips import MOST_CHARACTERS, answers_in

VALUE = {"value": 1}
ERROR = {"error": ["42501", "no", None, ""]}


@pytest.mark.parametrize("answers", [[], [VALUE], [VALUE, ERROR], [{"value": None}]])
def test_what_is_an_answer(answers: list[object]) -> None:
    assert answers_in(json.dumps(answers), len(answers)) == answers


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("{", 1),
        ("null", 1),
        ("7", 1),
        ("{}", 0),
        ("[]", 1),
        ("[1]", 1),
        ('[{"value": 1}, {"value": 2}]', 1),
        ("[{}]", 1),
        ('[{"error": "no"}]', 1),
        ('[{"error": ["x", "no", "", ""]}]', 1),
        ('[{"error": ["42501", null, "", ""]}]', 1),
        ('[{"error": [1, 2, 3, 4]}]', 1),
        ("[" * 100_000, 1),
    ],
)
def test_what_makes_no_sense_is_told(text: str, count: int) -> None:
    assert "makes no sense" in answers_in(text, count)


def test_what_is_missing_or_too_long_is_told() -> None:
    assert answers_in(None, 1) == "no answer came for it"
    assert "characters" in answers_in('"' + "x" * MOST_CHARACTERS + '"', 1)
    assert answers_in('"it lacks changes"', 1) == "it lacks changes"
