"""What callers send for a value where its meaning is plain: models write objects as JSON text."""

from typing import Any

from jsonschema_rs import validator_for

from pgblend.cli.parameters import parse_json
from pgblend.cli.serve.request_schemas import Schema
from pgblend.plpy.base.catalog import CATALOG

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
    kinds, required = schema["properties"], schema["required"]
    return {
        name: as_meant(value, kinds.get(name, {}))
        for name, value in given.items()
        if value is not None
        or name in required
        or name not in kinds
        or validator_for(kinds[name]).is_valid(None)
    }


def _read(text: str, schema: Schema) -> Any:
    """Return what a text says as JSON where that is of the schema's type, else the text."""
    of_the_type = validator_for({"type": schema.get("type", "string")})
    if of_the_type.is_valid(text):
        return text
    try:
        said = parse_json(text)
    except ValueError:
        return text
    return as_meant(said, schema) if of_the_type.is_valid(said) else text
