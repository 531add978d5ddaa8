"""Reading the fields of a call, checked before any model is touched."""

import json
import re
from collections.abc import Collection
from typing import Any

from pgblend.cli.models.errors import GatewayError
from pgblend.plpy.base.nearest import nearest_told

MAX_TIMEOUT_MS = 600_000
# Providers put a model's name into URLs, and litellm takes some names for URLs.
_MODEL_NAME = re.compile(r"(?!.*(?:\.\.|//|https?:))[A-Za-z0-9][\w./:@+-]{0,199}", re.ASCII)


def json_object(body: bytes, allowed: Collection[str]) -> dict[str, Any]:
    """Return the object in a body, or raise a GatewayError that names what is wrong with it."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad("invalid_utf8", f"the body is not UTF-8: byte {error.start}") from None
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise bad("invalid_json", f"the body is not JSON: {error.msg} at {where}") from None
    except (ValueError, RecursionError):
        raise bad("invalid_json", "the body's JSON is nested or its numbers are too long") from None
    if not isinstance(fields, dict):
        raise bad("invalid_json", "the body must be a JSON object")
    for name in fields:
        if name not in allowed:
            told = nearest_told(name, allowed)
            message = f"unknown field {name[:80]!r}: {told} (of {', '.join(sorted(allowed))})"
            raise bad("unknown_parameter", message, name)
    return fields


def model_name(value: object) -> str:
    """Return a model's name."""
    if not isinstance(value, str) or not value:
        raise bad("invalid_model", "`model` must be the name of a model", "model")
    if not _MODEL_NAME.fullmatch(value):
        raise bad("invalid_model", f"{value[:200]!r} is not a model's name", "model")
    return value


def text(value: object, param: str) -> str:
    """Return a text that is neither empty nor broken."""
    if not isinstance(value, str):
        kind = type(value).__name__
        raise bad("invalid_input", f"`{param}` must be a string, not {kind}", param)
    if not value:
        raise bad("empty_input", f"`{param}` is an empty text", param)
    try:
        value.encode()
    except UnicodeEncodeError:
        message = f"`{param}` has a surrogate without its pair"
        raise bad("invalid_input", message, param) from None
    return value


def whole_number(value: object, param: str, least: int, most: int) -> int | None:
    """Return a whole number within a range, None where none is given."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        message = f"`{param}` must be a whole number from {least} to {most}"
        raise bad(f"invalid_{param}", message, param)
    return value


def number(value: object, param: str, least: float, most: float) -> float | None:
    """Return a number within a range, None where none is given."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:  # type: ignore[operator]
        raise bad(f"invalid_{param}", f"`{param}` must be a number from {least} to {most}", param)
    return float(value)  # type: ignore[arg-type]


def timeout_ms(value: object) -> int | None:
    """Return how many milliseconds the caller waits, None where it does not say."""
    return whole_number(value, "timeout_ms", 1, MAX_TIMEOUT_MS)


def bad(code: str, message: str, param: str | None = None) -> GatewayError:
    """Return the error for a field that cannot be taken."""
    return GatewayError(400, code, message, param=param)
