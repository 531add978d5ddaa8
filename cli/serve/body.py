"""Reading a call's body: JSON, held to its schema, and what it asks for."""

import json
import re
from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pgblend.cli.parameters import parse_json
from pgblend.cli.search_request import SearchRequest
from pgblend.cli.serve.problems import Problem
from pgblend.cli.serve.request_schemas import DEFAULT_ROWS, Schema

_MOST_SHOWN = 300
Read = Callable[[bytes], dict[str, Any]]
_SPACE = r"[ \t\n\r]*+"
_NUMBER = r"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+"
_NUMBERS = rf"{_NUMBER}(?:{_SPACE},{_SPACE}{_NUMBER})*+"
_VECTOR_NAME = "query_embedding"
_VECTOR = re.compile(rf'"{_VECTOR_NAME}"{_SPACE}:{_SPACE}(\[{_SPACE}{_NUMBERS}{_SPACE}\])')
_STAND_IN = "[0]"


def reader(schema: Schema) -> Read:
    """Return what reads a body of this schema; a Problem names the field that does not fit."""
    check = checker(_without_vector(schema), "the body", "GET /openapi.json says what fits")

    def read(body: bytes) -> dict[str, Any]:
        try:
            text = body.decode("utf-8")
            vector = _vector(text)
            if vector is None:
                return check(parse_json(text))
            start, end = vector.span(1)
            given = check(parse_json(f"{text[:start]}{_STAND_IN}{text[end:]}"))
        except UnicodeDecodeError as error:
            detail = f"the body is not UTF-8: byte {error.start}"
            raise Problem(400, "invalid-json", detail) from None
        except ValueError as error:
            raise Problem(400, "invalid-json", f"the body is not JSON: {error}") from None
        if given.get(_VECTOR_NAME) == json.loads(_STAND_IN):
            given[_VECTOR_NAME] = vector[1]
            return given
        return check(parse_json(text))  # it is the vector of something else

    return read


def checker(schema: Schema, whole: str, hint: str) -> Callable[[Any], dict[str, Any]]:
    """Return what holds a value to this schema; a Problem names the field that does not fit."""
    validator = Draft202012Validator(schema)

    def check(given: Any) -> dict[str, Any]:
        if not validator.is_valid(given):
            wrong = best_match(validator.iter_errors(given))
            place = wrong.json_path.removeprefix("$").removeprefix(".") or whole
            said = f"{place}: {wrong.message}"[:_MOST_SHOWN]
            raise Problem(400, "invalid-request", said, hint=hint)
        return dict(given)

    return check


def _without_vector(schema: Schema) -> Schema:
    """Leave a vector's numbers to the database: looking at each here would take milliseconds."""
    fields = dict(schema["properties"])
    if "query_embedding" in fields:
        fields["query_embedding"] = {
            name: value for name, value in fields["query_embedding"].items() if name != "items"
        }
    return schema | {"properties": fields}


def _vector(text: str) -> re.Match[str] | None:
    """Find the numbers of the one vector in a body: their text is handed on, which reads no float.

    To read 384 of them and to write them again would take half a millisecond.
    """
    return _VECTOR.search(text) if text.count(f'"{_VECTOR_NAME}"') == 1 else None


def search_request(given: dict[str, Any]) -> SearchRequest:
    """Return the search that a body asks for; its vector is a list of numbers, or their text."""
    vector = given.get("query_embedding")
    return SearchRequest(
        query=given["query"],
        limit=given.get("limit", DEFAULT_ROWS),
        collections=given.get("collections"),
        filter=given.get("filter"),
        options=given.get("options", {}),
        query_embedding=vector if isinstance(vector, str | None) else json.dumps(vector),
    )
