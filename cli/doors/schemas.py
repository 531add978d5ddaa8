"""What callers may send, as JSON Schemas that OpenAPI shows; and bodies, read by them."""

import json
import re
from collections.abc import Callable
from functools import reduce
from math import inf
from operator import getitem
from typing import Any

import orjson
from jsonschema_rs import ValidationError, ValidationErrorKind, validator_for

from pgblend.cli.base.parameters import is_blank, parse_json
from pgblend.cli.doors.problems import Problem
from pgblend.cli.models.fields import first_error, place_of
from pgblend.cli.search.statements import SearchRequest
from pgblend.plpy.base.catalog import CATALOG
from pgblend.plpy.base.setting_rules import nearest_told

Schema = dict[str, Any]
DEFAULT_ROWS = 10
DEFAULT_CONTEXT_ROWS = 20
MOST_MESSAGES = 20  # of a chat before a question
MOST_SAID = 4000  # characters of a message
_MOST_ROWS = 10_000
_MOST_DIMENSIONS = 16_000
_MOST_ID = 2**63 - 1

_SEARCH: dict[str, Schema] = {
    "query": {"type": "string", "description": "A question, or words."},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": _MOST_ROWS,
        "default": DEFAULT_ROWS,
        "description": "Most rows of the answer.",
    },
    "collections": {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "maxItems": 1000,
        "description": "Names of those to search; null: all that the caller may read.",
    },
    "filter": {
        "type": ["object", "null"],
        "description": 'Only rows that pass: {"author": "knuth", "year": {"gte": 1974}}. Keys are '
        "of metadata, or $title, $date, $source_key and others.",
    },
    "profile": {"type": ["string", "null"], "description": "Named set of search options."},
    "options": {
        "type": "object",
        "default": {},
        "description": "Search options, as those of blend.hybrid_search. Often useful: mode (fast,"
        " default, thorough), per_document, since and until (dates), language.",
    },
    "history": {
        "type": "array",
        "maxItems": MOST_MESSAGES,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["role", "content"],
            "properties": {
                "role": {"enum": ["user", "assistant"]},
                "content": {"type": "string", "maxLength": MOST_SAID},
            },
        },
        "description": "The chat before the query, the oldest message first: where a model expands"
        " queries, it learns from it what the query refers to.",
    },
    "query_embedding": {
        "type": ["array", "null"],
        "items": {"type": "number"},
        "minItems": 1,
        "maxItems": _MOST_DIMENSIONS,
        "description": "The query's vector, where the caller has it.",
    },
}


def closed_object(required: list[str], properties: dict[str, Schema]) -> Schema:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


SEARCH = closed_object(["query"], _SEARCH)
ROWS = closed_object(
    ["query"],
    _SEARCH
    | {
        "purpose": {
            "enum": ["search", "typed"],
            "default": "search",
            "description": "typed: the query is the beginning of what somebody types. It asks no"
            " model but the one of vectors, and views of the log do not count it.",
        },
        "facts": {
            "type": "boolean",
            "default": False,
            "description": "Whether the answer has facts as well, those of blend.last_search().",
        },
    },
)
_CONTEXT_LIMIT = _SEARCH["limit"] | {"default": DEFAULT_CONTEXT_ROWS}
CONTEXT = closed_object(["query"], _SEARCH | {"limit": _CONTEXT_LIMIT})
ASK = closed_object(
    ["query"],
    _SEARCH
    | {
        "answer": {
            "type": ["boolean", "null"],
            "description": "Whether to ask the answer model; null: where one is set.",
        }
    },
)
FACETS = closed_object(
    ["query", "keys"],
    _SEARCH
    | {
        "keys": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 100,
            "description": "Keys of metadata, or $collection, $language, $date and others.",
        },
        "buckets": {
            "type": "object",
            "default": {},
            "description": "How values of a key are put together: day, week, month, quarter or"
            ' year of dates, or rising bounds: {"price": [10, 20]}.',
        },
    },
)
DIAGNOSE = closed_object(
    ["query", "document"],
    _SEARCH | {"document": {"type": "string", "description": "Its id, source key or URI."}},
)
FEEDBACK = closed_object(
    ["search_id", "chunk_id", "grade"],
    {
        "search_id": {
            "type": "string",
            "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
            "description": "details.search_id of a row.",
        },
        "chunk_id": {"type": "integer", "minimum": 1, "maximum": _MOST_ID},
        "grade": {
            "type": ["integer", "null"],
            "minimum": -1000,
            "maximum": 1000,
            "description": "Above 0: relevant; null takes it back.",
        },
    },
)
CLICK = closed_object(
    ["search_id", "chunk_id"],
    {name: FEEDBACK["properties"][name] for name in ("search_id", "chunk_id")},
)
# What chat clients send beside counts for nothing: the model, its settings and prompt are ask's.
CHAT: Schema = {
    "type": "object",
    "required": ["model", "messages"],
    "properties": {
        "model": {
            "type": "string",
            "description": "pgblend/COLLECTION, or pgblend for all that the caller may read.",
        },
        "messages": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1000,
            "items": {
                "type": "object",
                "required": ["role"],
                "properties": {
                    "role": {"type": "string"},
                    "content": {"type": ["string", "array", "null"], "items": {"type": "object"}},
                },
            },
            "description": "The last one of role user is the question.",
        },
        "stream": {"type": ["boolean", "null"]},
        "stream_options": {"type": ["object", "null"]},
        "max_tokens": {"type": ["integer", "null"], "minimum": 1},
        "max_completion_tokens": {"type": ["integer", "null"], "minimum": 1},
    },
}


# What callers send for a value where its meaning is plain: models write objects as JSON text.

# Values of these options are texts themselves.
_TEXTS = ("text", "date", "pg_lsn", "text_search_config")


def as_meant(given: Any, schema: Schema) -> Any:
    """Return a value with JSON texts as what they say, where its schema takes that and no text.

    null for a property that may be left out, and takes none, leaves it out.
    """
    if isinstance(given, str):
        return _read(given, schema)
    if isinstance(given, list) and "properties" in schema.get("items", {}):
        return [as_meant(item, schema["items"]) for item in given]
    if isinstance(given, dict) and "properties" in schema:
        return _object_as_meant(given, schema)
    return given


def options_as_meant(options: dict[str, Any]) -> dict[str, Any]:
    """Return search options with JSON texts as what they say, but where an option is a text."""
    return {name: _option(name, value) for name, value in options.items()}


def _option(name: str, value: Any) -> Any:
    takes_text = name not in CATALOG or CATALOG[name].row()["value_type"] in _TEXTS
    if takes_text or not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def _object_as_meant(given: dict[str, Any], schema: Schema) -> dict[str, Any]:
    kinds, required = schema["properties"], schema.get("required", ())
    return {
        name: as_meant(value, kinds.get(name, {}))
        for name, value in given.items()
        if value is not None
        or name in required
        or name not in kinds
        or validator_for(kinds[name]).is_valid(None)
    }


def _read(text: str, schema: Schema) -> Any:
    """Return what a text says as JSON where that is of the schema's type, else the text.

    One text in place of a list of texts is a list of it.
    """
    of_the_type = validator_for({"type": schema.get("type", "string")})
    if of_the_type.is_valid(text):
        return text
    try:
        said = parse_json(text)
    except ValueError:
        said = text
    if of_the_type.is_valid(said):
        return as_meant(said, schema)
    is_list_of_texts = of_the_type.is_valid([]) and schema.get("items", {}).get("type") == "string"
    return [said] if is_list_of_texts and isinstance(said, str) else text


_MOST_SHOWN = 300
_MOST_NAME = 60
Read = Callable[[bytes], dict[str, Any]]
_VECTOR_NAME = "query_embedding"
_VECTOR_START = re.compile(rf'"{_VECTOR_NAME}"[ \t\n\r]*+:[ \t\n\r]*+\[')
_STAND_IN = "[0]"


def reader(schema: Schema) -> Read:
    """Return what reads a body of this schema; a Problem names the field that does not fit."""
    check = checker(schema, "the body", "GET /openapi.json says what fits")

    def read(body: bytes) -> dict[str, Any]:
        try:
            given, vector = _parsed(body.decode("utf-8"))
        except UnicodeDecodeError as error:
            detail = f"the body is not UTF-8: byte {error.start}"
            raise Problem(400, "invalid-json", detail) from None
        except ValueError as error:
            raise Problem(400, "invalid-json", f"the body is not JSON: {error}") from None
        checked = check(given)
        return checked if vector is None else checked | {_VECTOR_NAME: vector}

    return read


def checker(schema: Schema, whole: str, hint: str) -> Callable[[Any], dict[str, Any]]:
    """Return what holds a value to this schema; a Problem names the field that does not fit.

    What does not fit as it stands may do so as it was meant. A query has words.
    """
    validator = validator_for(schema)

    def check(given: Any) -> dict[str, Any]:
        if not validator.is_valid(given):
            given = as_meant(given, schema)
        if not validator.is_valid(given):
            wrong = first_error(validator, given)
            place = place_of(wrong.instance_path) or whole
            message = f"{place}: {_message(wrong, given, schema)}"
            raise Problem(400, "invalid-request", message[:_MOST_SHOWN], hint=hint)
        checked: dict[str, Any] = dict(given)
        if is_blank(checked.get("query", "words")):
            raise Problem(400, "invalid-request", "query: is empty: expected words", hint=hint)
        if checked.get("options"):
            checked["options"] = options_as_meant(checked["options"])
        return checked

    return check


def _message(wrong: ValidationError, given: Any, schema: Any) -> str:
    """Return what is wrong with a value; of an unknown name, which are the nearest to it."""
    if isinstance(wrong.kind, ValidationErrorKind.AdditionalProperties):
        name = min(wrong.kind.unexpected)
        of_object = reduce(getitem, wrong.schema_path[:-1], schema)
        told = nearest_told(name, of_object["properties"])
        return f"there is no {name[:_MOST_NAME]!r}: {told}"
    is_huge = reduce(getitem, wrong.instance_path, given) in (inf, -inf)
    return "the number is out of range" if is_huge else wrong.message


def _parsed(text: str) -> tuple[Any, str | None]:
    """Return a body, and the text of its one vector: it is handed on as it stands.

    To read 384 floats as exactly as other numbers, and to write them again, takes .3 ms.
    """
    start = _VECTOR_START.search(text)
    if start is None or text.count(f'"{_VECTOR_NAME}"') > 1:
        return parse_json(text), None
    first, end = start.end() - 1, text.find("]", start.end()) + 1
    try:
        numbers = orjson.loads(text[first:end])
    except ValueError:  # no JSON, or lists within the list
        return parse_json(text), None
    given = parse_json(f"{text[:first]}{_STAND_IN}{text[end:]}")
    if not isinstance(given, dict) or given.get(_VECTOR_NAME) != json.loads(_STAND_IN):
        return parse_json(text), None  # it is the vector of something else
    return given | {_VECTOR_NAME: numbers}, text[first:end]


def search_request(given: dict[str, Any]) -> SearchRequest:
    """Return the search that a body asks for; its vector is a list of numbers, or their text."""
    vector = given.get("query_embedding")
    chat = {"history": given["history"]} if given.get("history") else {}
    return SearchRequest(
        query=given["query"],
        limit=given.get("limit", DEFAULT_ROWS),
        collections=given.get("collections"),
        filter=given.get("filter"),
        options=chat | given.get("options", {}),
        query_embedding=vector if isinstance(vector, str | None) else json.dumps(vector),
    )
