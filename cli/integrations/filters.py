"""Filters of frameworks in pgblend's own language; what has no counterpart is an error."""

from collections.abc import Mapping
from typing import Any

from pgblend.cli.documents.document import storable_text, storable_value
from pgblend.integrations.values import plain_value
from pgblend.plpy.base.filters import FIELDS, METADATA

Filter = dict[str, Any]

_CONNECTIVES = ("and", "or", "not")
_NOT_IN, _BETWEEN = "not in", "between"
# What each language calls pgblend's operators.
_LANGCHAIN = {
    **{f"${name}": name for name in ("eq", "ne", "lt", "lte", "gt", "gte", "in", "exists")},
    "$nin": _NOT_IN,
    "$between": _BETWEEN,
    "$all": "contains",
}
_COMPARED = {"==": "eq", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "in": "in"}
_LLAMA_INDEX = {**_COMPARED, "nin": _NOT_IN, "any": "in", "all": "contains", "contains": "contains"}
_HAYSTACK = {**_COMPARED, "not in": _NOT_IN}


class FilterError(ValueError):
    """A filter of which a part, named in the message, has no counterpart in pgblend."""


def from_langchain(given: Mapping[str, Any] | None) -> Filter | None:
    """Translate {"year": {"$gte": 1970}, "$or": […]}, as LangChain's vector stores take it."""
    return _all(_langchain_entry(key, value) for key, value in given.items()) if given else None


def from_llama_index(given: Any) -> Filter | None:
    """Translate LlamaIndex' MetadataFilters."""
    if given is None or not given.filters:
        return None
    parts = [_llama_index_part(part) for part in given.filters]
    condition = getattr(given.condition, "value", given.condition) or "and"
    if condition == "not":  # none of them
        return {"not": _joined("or", parts)}
    return _joined(condition, parts)


def from_haystack(given: Mapping[str, Any] | None) -> Filter | None:
    """Translate Haystack's comparisons and logical conditions."""
    if not given:
        return None
    if "field" not in given:
        _expect(given, "operator", "conditions")
        parts = [part for each in given["conditions"] if (part := from_haystack(each))]
        return _joined(str(given["operator"]).lower(), parts)
    _expect(given, "field", "operator", "value")
    return _condition(_haystack_key(given["field"]), given["operator"], given["value"], _HAYSTACK)


def _langchain_entry(key: str, value: Any) -> Filter:
    if key in ("$and", "$or"):
        if not isinstance(value, list | tuple) or not all(isinstance(v, Mapping) for v in value):
            raise FilterError(f"filter: {key} is {value!r}: expected a list of filters")
        return {key[1:]: [from_langchain(part) or {} for part in value]}
    if key == "$not":
        if not isinstance(value, Mapping):
            raise FilterError(f"filter: $not is {value!r}: expected a filter")
        return {"not": from_langchain(value) or {}}
    if key.startswith("$") and key not in FIELDS:
        raise _unknown(key, [*_LANGCHAIN, "$and", "$or", "$not"])
    if not isinstance(value, Mapping):
        return _condition(_key(key), "$eq", value, _LANGCHAIN)
    return _all(_langchain_condition(key, name, operand) for name, operand in value.items())


def _langchain_condition(key: str, operator: str, value: Any) -> Filter:
    if operator == "$not" and isinstance(value, Mapping):
        return {"not": _langchain_entry(key, value)}
    return _condition(_key(key), operator, value, _LANGCHAIN)


def _llama_index_part(part: Any) -> Filter:
    if hasattr(part, "filters"):
        return from_llama_index(part) or {}
    operator = getattr(part.operator, "value", part.operator)
    return _condition(_key(part.key), operator, part.value, _LLAMA_INDEX)


def _haystack_key(field: str) -> str:
    """Return the key of a field: metadata are called meta.…, the rest are a document's own."""
    if field == "id":
        return "$source_key"
    if field in ("content", "blob", "score", "embedding", "sparse_embedding"):
        raise FilterError(f"filter: the field {field!r} has no counterpart in pgblend")
    return _key(field.removeprefix("meta."))


def _condition(key: str, operator: str, value: Any, operators: Mapping[str, str]) -> Filter:
    """Return the condition of one comparison; null is what has no value."""
    name = operators.get(operator)
    if name is None:
        raise _unknown(operator, list(operators), f" on {key!r}")
    if value is None and name in ("eq", "ne"):
        return {key: {"exists": name == "ne"}}
    if name == _BETWEEN:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise FilterError(f"filter: {operator} on {key!r} is {value!r}: expected two values")
        return {key: {"gte": _value(value[0]), "lte": _value(value[1])}}
    if name == _NOT_IN:
        return {"not": {key: {"in": _value(value)}}}
    return {key: {name: _value(value)}}


def _key(key: str) -> str:
    """Return pgblend's name of a key: of a built-in field the same, of metadata no other's."""
    name = storable_text(key)
    if name in FIELDS or not (name.startswith("$") or name in _CONNECTIVES):
        return name
    return METADATA + name


def _value(value: Any) -> Any:
    """Return a value as a filter's JSON has it, cleaned as what is stored."""
    try:
        plain = storable_value(plain_value(value, "filter"))
    except TypeError as error:
        raise FilterError(str(error)) from None
    given = plain if isinstance(plain, list) else [plain]
    if not all(isinstance(part, str | bool | int | float) for part in given):
        raise FilterError(
            f"filter: {value!r} is of type {type(value).__name__}: expected text, a finite number, "
            "a truth value, a date or a list of them"
        )
    return plain


def _all(parts: Any) -> Filter:
    """Return the filter that wants every part."""
    return _joined("and", list(parts))


def _joined(connective: str, parts: list[Filter]) -> Filter:
    if connective not in _CONNECTIVES:
        raise _unknown(connective, list(_CONNECTIVES))
    if connective == "not":
        return {"not": _all(parts)}
    return parts[0] if len(parts) == 1 else {connective: parts}


def _expect(given: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if key not in given:
            raise FilterError(f"filter: {dict(given)!r} has no {key!r}")


def _unknown(name: str, expected: list[str], place: str = "") -> FilterError:
    return FilterError(
        f"filter: {name!r}{place} has no counterpart in pgblend: expected {', '.join(expected)}"
    )
