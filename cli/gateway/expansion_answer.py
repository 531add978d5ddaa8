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
RESPONSE_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "query_expansion", "strict": True, "schema": SCHEMA},
}


class InvalidExpansionError(ValueError):
    """An answer is not what the schema asks for; the message says where."""


def read_expansion(text: str) -> dict[str, Any]:
    """Return the object in a model's answer, repairing its JSON once where that is needed."""
    fenced = re.search(r"```(?:json)?\s*(.*?)```", text, re.DOTALL)
    text = fenced.group(1) if fenced else text
    try:
        return _checked(json.loads(text))
    except ValueError as error:
        if isinstance(error, InvalidExpansionError):
            raise
    # A sentence before the object is common, and no object at all must not become one.
    start = text.find("{")
    if start < 0:
        raise InvalidExpansionError("it holds no JSON object")
    return _checked(repair_json(text[start:], return_objects=True))


def _checked(value: Any) -> dict[str, Any]:
    """Check the schema: both lists must be there; hyde and notes may be missing or null."""
    value = storable(value)
    if not isinstance(value, dict):
        raise InvalidExpansionError("it is not a JSON object")
    for name in ("lexicalQueries", "vectorQueries"):
        items = value.get(name)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise InvalidExpansionError(f"{name} is not a list of texts")
    for name in ("hyde", "notes"):
        if not isinstance(value.get(name), str | None):
            raise InvalidExpansionError(f"{name} is not a text")
    return value
