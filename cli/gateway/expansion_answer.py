"""What a model must answer to an expansion, and reading it."""

import json
import re
from importlib.resources import files
from typing import Any

from json_repair import repair_json

from pgblend.plpy.models.answer import storable

_FILE = files("pgblend.cli.schemas") / "expansion.schema.json"
# What providers call strict: every field is required and no other allowed; limits on counts and
# lengths are not taken by all of them, so the guardrails have them. Nor are "$schema" and "title".
SCHEMA: dict[str, Any] = {
    name: value
    for name, value in json.loads(_FILE.read_text(encoding="utf-8")).items()
    if name not in ("$schema", "title")
}
_SUB_QUESTIONS = {"subQuestions": SCHEMA["properties"]["vectorQueries"]}


def response_format(has_sub_questions: bool) -> dict[str, Any]:
    """Return what asks a model for the schema; with sub-questions it has a field more."""
    more = _SUB_QUESTIONS if has_sub_questions else {}
    schema = SCHEMA | {
        "properties": SCHEMA["properties"] | more,
        "required": [*SCHEMA["required"], *more],
    }
    named = {"name": "query_expansion", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


class InvalidExpansionError(ValueError):
    """An answer is not what the schema asks for; the message says where."""


def read_expansion(text: str) -> dict[str, Any]:
    """Return the object in a model's answer, repairing its JSON once where that is needed."""
    fenced = re.search(r"```(?:json)?\s*(.*?)```", text, re.DOTALL)
    text = fenced.group(1) if fenced else text
    try:
        return _checked(json.loads(text))
    except RecursionError:
        raise InvalidExpansionError("it is nested too deeply") from None
    except ValueError as error:
        if isinstance(error, InvalidExpansionError):
            raise
    # A sentence before the object is common, and no object at all must not become one.
    start = text.find("{")
    if start < 0:
        raise InvalidExpansionError("it holds no JSON object")
    try:
        return _checked(repair_json(text[start:], return_objects=True))
    except RecursionError:
        raise InvalidExpansionError("it is nested too deeply") from None


def _checked(value: Any) -> dict[str, Any]:
    """Check the schema: both lists of queries must be there; what else it has may be missing."""
    value = storable(value)
    if not isinstance(value, dict):
        raise InvalidExpansionError("it is not a JSON object")
    for name in ("lexicalQueries", "vectorQueries", "subQuestions"):
        items = value.get(name, [] if name == "subQuestions" else None)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise InvalidExpansionError(f"{name} is not a list of texts")
    for name in ("hyde", "notes"):
        if not isinstance(value.get(name), str | None):
            raise InvalidExpansionError(f"{name} is not a text")
    return value
