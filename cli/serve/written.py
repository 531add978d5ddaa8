"""JSON that stands in an answer as the database wrote it, so that nobody reads it on its way."""

import json
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":"))


class Written(str):
    """The text of a JSON value."""

    __slots__ = ()


def written_answer(answer: dict[str, Any]) -> bytes:
    """Return an answer as JSON, as the command line writes it; values may be Written."""
    members = (f"{_json(name)}:{_json(value)}" for name, value in answer.items())
    return f"{{{','.join(members)}}}".encode("utf-8", "replace")


def _json(value: Any) -> str:
    return value if isinstance(value, Written) else _ENCODER.encode(value)
