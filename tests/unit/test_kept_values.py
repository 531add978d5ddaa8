"""What a session keeps for its next search."""

import json
from typing import Any

from pgblend.plpy.search.plan import (
    LONGEST,
    MOST_DEPTHS,
    MOST_SETTINGS,
    arm_settings,
    parsed_settings,
)
from pgblend.plpy.session import MOST_PLANS, keep_value, prepared_statements


class Plan:
    def execute(self, values: list[object]) -> list[list[object]]:
        return [values]


def test_a_full_store_is_emptied_first() -> None:
    kept: dict[Any, int] = {}
    assert [keep_value(kept, key, len(key), 2) for key in ("a", "bb")] == [1, 2]
    assert kept == {"a": 1, "bb": 2}
    assert keep_value(kept, "ccc", 3, 2) == 3
    assert kept == {"ccc": 3}


def test_settings_are_parsed_once() -> None:
    kept: dict[Any, Any] = {}
    parsed = parsed_settings(kept, '{"k1": 1}')
    assert parsed == ({"k1": 1}, {})
    assert parsed_settings(kept, '{"k1": 1}') is parsed
    assert parsed_settings(kept, '{"k1": 2}') == ({"k1": 2}, {})
    for number in range(MOST_SETTINGS + 1):
        parsed_settings(kept, json.dumps({"number": number}))
        assert len(kept) <= MOST_SETTINGS


def test_long_settings_are_not_kept() -> None:
    kept: dict[Any, Any] = {}
    for characters, count in ((LONGEST, 1), (LONGEST + 1, 1)):
        text = json.dumps("x" * (characters - 2))
        assert parsed_settings(kept, text) == ("x" * (characters - 2), {})
        assert len(kept) == count


def test_what_arms_read_is_written_once() -> None:
    kept: dict[int, str] = {}
    settings = {"ef_search": 80, "mmr": {"lambda": 1}, "candidate_depth": 100, "language": None}
    text = arm_settings(kept, settings, 20)
    assert json.loads(text) == {"ef_search": 80, "language": None, "candidate_depth": 20}
    assert arm_settings(kept, settings, 20) is text
    for depth in range(MOST_DEPTHS + 1):
        assert json.loads(arm_settings(kept, settings, depth))["candidate_depth"] == depth
        assert len(kept) <= MOST_DEPTHS


def test_statements_are_prepared_once() -> None:
    made: list[Any] = []
    kept: dict[Any, Any] = {}
    run = prepared_statements(lambda *args: made.append(args) or Plan(), kept)
    assert run("SELECT $1", ["text"], "a") == [["a"]]
    assert run("SELECT $1", ["text"], "b") == [["b"]]
    assert made == [("SELECT $1", ["text"])]
    for number in range(MOST_PLANS + 1):
        run(f"SELECT {number}", [])
        assert len(kept) <= MOST_PLANS
