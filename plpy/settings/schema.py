"""What is wrong with a nested value."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "text": str,
}


def schema_error(value: Any, schema: Mapping[str, Any], path: str) -> str | None:
    """Return what is wrong with a value, None where nothing is; `path` is where it stands.

    A schema has `type` (array, boolean, integer, number, object, text) and, as that asks, `minimum`
    and `maximum`; `allowed` texts, or how many characters or items there may be at `most`; `items`
    and the key by which they `rise`, of which there must be one; `keys`, each with its schema, and
    which of them are `required`; or `kinds`, which of those an object has by its key "kind".
    `nullable` values may be None.
    """
    if value is None and schema.get("nullable"):
        return None
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool) != (kind == "boolean"):
        return _expected(path, schema)
    if kind == "boolean":
        return None
    if kind in ("integer", "number"):
        inside = schema["minimum"] <= value <= schema["maximum"]
        return None if inside else _expected(path, schema)
    if kind == "text":
        fits = (
            value in schema["allowed"] if "allowed" in schema else len(str(value)) <= schema["most"]
        )
        return None if fits else _expected(path, schema)
    check = _items_error if kind == "array" else _object_error
    return check(value, schema, path)


def _expected(path: str, schema: Mapping[str, Any]) -> str:
    kind = schema["type"]
    if kind in ("integer", "number"):
        number = "a whole number" if kind == "integer" else "a number"
        wanted = f"{number} from {schema['minimum']} to {schema['maximum']}"
    elif kind == "boolean":
        wanted = "true or false"
    elif kind == "text" and "allowed" in schema:
        wanted = f"one of {', '.join(schema['allowed'])}"
    elif kind == "text":
        wanted = f"a text of at most {schema['most']} characters"
    elif kind == "array" and "rise" in schema:
        wanted = "an array of at least one object"
    elif kind == "array":
        wanted = f"an array of at most {schema['most']} values"
    elif "kinds" in schema:
        wanted = f'an object with "kind": one of {", ".join(schema["kinds"])}'
    else:
        wanted = f"an object with keys {', '.join(schema['keys'])}"
    return _wanted(path, wanted)


def _wanted(path: str, wanted: str) -> str:
    return f"{path}: expected {wanted}" if path else f"expected {wanted}"


def _items_error(value: Any, schema: Mapping[str, Any], path: str) -> str | None:
    if len(value) > schema.get("most", len(value)) or ("rise" in schema and not value):
        return _expected(path, schema)
    for place, item in enumerate(value, 1):
        error = schema_error(item, schema["items"], f"{path}[{place}]")
        if error:
            return error
    if "rise" not in schema:
        return None
    rising = [item.get(schema["rise"]) for item in value]
    if any(low is None or (high is not None and high <= low) for low, high in pairwise(rising)):
        return _wanted(path, f"rising {schema['rise']}, none only in the last")
    return None


def _object_error(value: Any, schema: Mapping[str, Any], path: str) -> str | None:
    within = f"{path}." if path else ""
    if "kinds" in schema:
        if str(value.get("kind")) not in schema["kinds"]:
            return _expected(path, schema)
        schema = schema["kinds"][str(value["kind"])]
        value = {key: entry for key, entry in value.items() if key != "kind"}
    for key, entry in value.items():
        if key not in schema["keys"]:
            known = ", ".join(schema["keys"]) or "no more"
            return f'has no key "{within}{key[:200]}": expected {known}'
        error = schema_error(entry, schema["keys"][key], f"{within}{key}")
        if error:
            return error
    required = schema.get("required", ())
    missing = [key for key in required if key not in value]
    if missing:
        return f'lacks the key "{within}{missing[0]}": expected {", ".join(required)}'
    return None
