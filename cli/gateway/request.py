"""What a caller may send to /v1/embeddings, checked before any model is touched."""

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from pgblend.cli.gateway.errors import GatewayError

MAX_INPUTS = 2048  # as OpenAI
MAX_DIMENSIONS = 65_536
# Providers put a model's name into URLs, and litellm takes some names for URLs.
_MODEL_NAME = re.compile(r"(?!.*(?:\.\.|//|https?:))[A-Za-z0-9][\w./:@+-]{0,199}", re.ASCII)
_FIELDS = {"model", "input", "dimensions", "encoding_format", "user"}


@dataclass(frozen=True)
class EmbeddingsRequest:
    """A checked call: which model, which texts, in which form the vectors are wanted."""

    model: str
    texts: list[str]
    dimensions: int | None
    encoding_format: Literal["float", "base64"]


def parse_embeddings_request(body: bytes) -> EmbeddingsRequest:
    """Return the checked call, or raise a GatewayError that names the offending field."""
    fields = _json_object(body)
    for name in fields:
        if name not in _FIELDS:
            allowed = ", ".join(sorted(_FIELDS))
            raise _bad(
                "unknown_parameter", f"unknown field {name[:80]!r}; allowed: {allowed}", name
            )
    return EmbeddingsRequest(
        _model(fields.get("model")),
        _texts(fields.get("input")),
        _dimensions(fields.get("dimensions")),
        _encoding_format(fields.get("encoding_format")),
    )


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad("invalid_utf8", f"the body is not UTF-8: byte {error.start}") from None
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _bad("invalid_json", f"the body is not JSON: {error.msg} at {where}") from None
    except (ValueError, RecursionError):
        raise _bad(
            "invalid_json", "the body's JSON is nested or its numbers are too long"
        ) from None
    if not isinstance(fields, dict):
        raise _bad("invalid_json", "the body must be a JSON object")
    return fields


def _model(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _bad("invalid_model", "`model` must be the name of a model", "model")
    if not _MODEL_NAME.fullmatch(value):
        raise _bad("invalid_model", f"{value[:200]!r} is not a model's name", "model")
    return value


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [_text(value, "input")]
    if not isinstance(value, list):
        raise _bad("invalid_input", "`input` must be a string or a list of strings", "input")
    if not value:
        raise _bad("empty_input", "`input` is an empty list; send at least one text", "input")
    if len(value) > MAX_INPUTS:
        message = f"`input` has {len(value)} texts; send at most {MAX_INPUTS} in one call"
        raise _bad("too_many_inputs", message, "input")
    return [_text(item, f"input[{index}]") for index, item in enumerate(value)]


def _text(value: object, param: str) -> str:
    if not isinstance(value, str):
        kind = type(value).__name__
        raise _bad("invalid_input", f"`{param}` must be a string, not {kind}", param)
    if not value:
        raise _bad("empty_input", f"`{param}` is an empty text", param)
    if not _is_unicode(value):
        raise _bad("invalid_input", f"`{param}` has a surrogate without its pair", param)
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _dimensions(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DIMENSIONS:
        message = f"`dimensions` must be a whole number from 1 to {MAX_DIMENSIONS}"
        raise _bad("invalid_dimensions", message, "dimensions")
    return value


def _encoding_format(value: object) -> Literal["float", "base64"]:
    match value:
        case None | "float":
            return "float"
        case "base64":
            return "base64"
    message = "`encoding_format` must be 'float' or 'base64'"
    raise _bad("invalid_encoding_format", message, "encoding_format")


def _bad(code: str, message: str, param: str | None = None) -> GatewayError:
    return GatewayError(400, code, message, param=param)
