"""Which parts of a filter a document fails."""

from pgblend.plpy.base.session import Json
from pgblend.plpy.search.diagnosis_facts import failed_conditions

A, B, C = {"a": 1}, {"b": 2}, {"c": [3, "ä"]}


def failed(condition: dict[str, Json], *failing: Json) -> list[str]:
    """Try a filter whose parts `failing`, and all that have them, do not pass."""

    def passes(tried: Json) -> bool:
        parts = [tried]
        while parts:
            part = parts.pop()
            if part in failing:
                return False
            if isinstance(part, dict) and len(part) > 1:
                parts += [{name: value} for name, value in part.items()]
            elif isinstance(part, dict) and isinstance(part.get("and"), list):
                parts += part["and"]
        return True

    return failed_conditions(passes, condition)


def test_parts_that_fail() -> None:
    assert failed(A | B) == []
    assert failed(A | B, B) == ['{"b": 2}']
    assert failed(A | {"and": [B, C, {"and": [C, B]}]}, C) == ['{"c": [3, "ä"]}'] * 2
    assert failed({"and": [A | B]}, A, B) == ['{"a": 1}', '{"b": 2}']


def test_a_filter_that_fails_as_a_whole() -> None:
    assert failed(A | B, A | B) == ['{"a": 1, "b": 2}']
