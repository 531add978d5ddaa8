"""Reading the fields of a call: a JSON Schema holds them before any model is touched.

Beside JSON Schema's own keywords a schema may have `codes`. They are those of an error by the
keyword that failed, "" for all others. An error is told at the innermost place that has them.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import getitem
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind, Validator, validator_for

from pgblend.cli.models.openai_errors import GatewayError
from pgblend.plpy.base.setting_rules import nearest_told

Schema = dict[str, Any]
Place = list[str | int]

_MOST_MILLISECONDS = 600_000
_MOST_SHOWN = 200
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_VALUE = "{value}"

TEXT: Schema = {
    "type": "string",
    "minLength": 1,
    "codes": {"": "invalid_input", "minLength": "empty_input"},
}
# Providers put a model's name into URLs, and litellm takes some names for URLs.
MODEL: Schema = {
    "type": "string",
    "pattern": r"^(?!.*(?:\.\.|//|https?:))[A-Za-z0-9][A-Za-z0-9_./:@+-]{0,199}$",
    "description": "the name of a model",
}


def whole_number(least: int, most: int) -> Schema:
    """Return the schema of a whole number within a range, which may be left out."""
    told = f"a whole number from {least} to {most}"
    kind = ["integer", "null"]
    return {"type": kind, "minimum": least, "maximum": most, "description": told}


def number(least: float, most: float) -> Schema:
    """Return the schema of a number within a range, which may be left out."""
    told = f"a number from {least} to {most}"
    return {"type": ["number", "null"], "minimum": least, "maximum": most, "description": told}


TIMEOUT = whole_number(1, _MOST_MILLISECONDS)


def reader(required: list[str], properties: dict[str, Schema]) -> Callable[[bytes], dict[str, Any]]:
    """Return what reads a body with these fields; a GatewayError names what is wrong with it.

    Fields that are null are as if they were left out; whole numbers are of the type int.
    """
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": {
            name: {"codes": {"": f"invalid_{name}"}} | kind for name, kind in properties.items()
        },
    }
    validator = validator_for(schema, mask=_VALUE)
    whole = {name for name, kind in properties.items() if "integer" in kind.get("type", ())}

    def read(body: bytes) -> dict[str, Any]:
        given = _json_object(body)
        # The validator takes no half of a letter: where one may be, it sees another letter.
        has_halves = _SURROGATE.search(body)
        seen = _json_object(_SURROGATE.sub(rb"\\ufffd", body)) if has_halves else given
        try:
            wrong = None if validator.is_valid(seen) else first_error(validator, seen)
        except ValueError:
            raise bad("invalid_json", "the body's JSON is nested too deep") from None
        if wrong is not None:
            raise _refusal(wrong, schema)
        if has_halves and (place := next(_broken_texts(given), None)):
            told = f"`{place_of(place)}` has a surrogate without its pair"
            raise bad("invalid_input", told, place_of(place))
        return {
            name: int(value) if name in whole else value
            for name, value in given.items()
            if value is not None
        }

    return read


def bad(code: str, message: str, param: str | None = None) -> GatewayError:
    """Return the error for a field that cannot be taken."""
    return GatewayError(400, code, message, param=param)


def first_error(validator: Validator, given: Any) -> ValidationError:
    """Return the error to be told: the outermost, a wrong name before one that is missing."""
    return min(validator.iter_errors(given), key=_told_late)


def _told_late(wrong: ValidationError) -> tuple[int, bool]:
    is_name = isinstance(wrong.kind, ValidationErrorKind.AdditionalProperties)
    return len(wrong.instance_path), not is_name


def place_of(path: Sequence[str | int]) -> str:
    """Return where a value stands: name.name[0]."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise bad("invalid_utf8", f"the body is not UTF-8: byte {error.start}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise bad("invalid_json", f"the body is not JSON: {error.msg} at {where}") from None
    except (ValueError, RecursionError):
        raise bad("invalid_json", "the body's JSON is nested or its numbers are too long") from None
    if not isinstance(given, dict):
        raise bad("invalid_json", "the body must be a JSON object")
    return given


def _broken_texts(given: Any) -> Iterator[Place]:
    """Yield where a text is that no UTF-8 can hold."""
    if isinstance(given, str) and not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError:
            yield []
    elif isinstance(given, dict | list):
        steps = given.items() if isinstance(given, dict) else enumerate(given)
        for step, value in steps:
            yield from ([step, *place] for place in _broken_texts(value))


def _refusal(wrong: ValidationError, schema: Schema) -> GatewayError:
    """Return the error of what does not fit: code and place are those of the schema."""
    if isinstance(wrong.kind, ValidationErrorKind.AdditionalProperties):
        allowed = schema["properties"]
        name = min(wrong.kind.unexpected)
        told = f"{nearest_told(name, allowed)} (of {', '.join(sorted(allowed))})"
        return bad("unknown_parameter", f"unknown field {name[:80]!r}: {told}", name)
    path, (*keys, keyword) = list(wrong.instance_path), map(str, wrong.schema_path)
    if isinstance(wrong.kind, ValidationErrorKind.Required):
        name = wrong.kind.property
        of_object: Schema = reduce(getitem, keys, schema)
        if "codes" in of_object["properties"].get(name, {}):
            path, keys, keyword = [*path, name], [*keys, "properties", name], "type"
    place, kind = _told_at(path, keys, schema)
    said = f": {_said(wrong, place)}"
    expected = f" must be {kind['description']}" if "description" in kind else ""
    code = kind["codes"].get(keyword, kind["codes"][""])
    return bad(code, f"`{place_of(place)}`{expected}{said}"[: 2 * _MOST_SHOWN], place_of(place))


def _told_at(path: Place, keys: list[str], schema: Schema) -> tuple[Place, Schema]:
    """Return the innermost place on a way that has codes, and its schema."""
    found: tuple[Place, Schema] = ([], schema)
    kind, depth, steps = schema, 0, iter(keys)
    for key in steps:
        kind = kind[key]
        if key == "properties":
            kind = kind[next(steps)]
        depth += key in ("properties", "items")
        if "codes" in kind:
            found = path[:depth], kind
    return found


def _said(wrong: ValidationError, place: Place) -> str:
    """Return what is wrong with a value; a text is told where it is but a name."""
    is_name = isinstance(wrong.kind, ValidationErrorKind.Pattern) and len(place) == 1
    is_told = is_name or isinstance(wrong.instance, int | float | None)
    value = json.dumps(wrong.instance)[:_MOST_SHOWN] if is_told else "it"
    return f"{value} is none" if is_name else wrong.message.replace(_VALUE, value)
