"""What frameworks give, as pgblend takes it: values of metadata and filters, and vectors."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pgvector import Vector

from pgblend.cli.documents.document import storable_text, storable_value

_FLOAT4_BOUND = 2.0**128 - 2.0**103  # from here on float4 rounds to infinity
EXPECTED = "expected what JSON has, a date, a time, a UUID, a path, a Decimal, an Enum or numpy's"


def stored_metadata(given: Mapping[Any, Any] | None, key: str) -> dict[str, Any]:
    """Return a document's metadata as they are stored; an error names the value that cannot be."""
    try:
        return {} if given is None else storable_value(plain_value(given, f"metadata of {key!r}"))
    except RecursionError:
        raise ValueError(f"metadata of {key!r}: nested too deeply, or within itself") from None


def stored_text(text: Any, place: str) -> str:
    """Return a text as it is stored and sought; an error where it is none."""
    if not isinstance(text, str):
        raise TypeError(f"{place} is {text!r}: expected text")
    return storable_text(text)


def plain_value(value: Any, place: str) -> Any:
    """Return a value as JSON has it; TypeError for one that has no such form."""
    if isinstance(value, Enum):
        return plain_value(value.value, place)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return _plain_object(value, place)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(part, f"{place}[{i}]") for i, part in enumerate(value)]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, UUID | PurePath):
        return str(value)
    if isinstance(value, Decimal):
        return _number(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # numpy need not be there
        is_moment = getattr(value.dtype, "kind", "") == "M"
        return plain_value((value.astype(str) if is_moment else value).tolist(), place)
    raise TypeError(f"{place}: {value!r} is of type {type(value).__name__}: {EXPECTED}")


def vector_of(given: Sequence[float], place: str) -> Vector:
    """Return a vector; ValueError where it holds what no vector of PostgreSQL can."""
    numbers = list(given)
    if not numbers:
        raise ValueError(f"{place} is empty: expected a list of numbers")
    for at, number in enumerate(numbers):
        if not hasattr(number, "__float__") or hasattr(number, "__len__"):
            raise ValueError(f"{place} has {number!r} at place {at}: expected a number")
        if not isfinite(number) or abs(number) >= _FLOAT4_BOUND:
            raise ValueError(
                f"{place} has {number} at place {at}: expected finite numbers below 3.4e38"
            )
    return Vector([float(number) for number in numbers])


def _plain_object(given: Mapping[Any, Any], place: str) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, value in given.items():
        name = storable_text(_name(key, place))
        if name in plain:
            raise ValueError(f"{place}: two keys are stored as {name!r}: rename one of them")
        plain[name] = plain_value(value, f"{place}[{name!r}]")
    return plain


def _name(key: Any, place: str) -> str:
    """Return a key as JSON has it: text, also of a number, a date and the like."""
    plain = plain_value(key, f"a key in {place}")
    if isinstance(plain, list | dict):
        raise TypeError(f"{place}: the key {key!r} is of type {type(key).__name__}: expected text")
    return plain if isinstance(plain, str) else json.dumps(plain)


def _number(value: Decimal) -> int | float:
    """Return a decimal number as one of JSON; NaN and infinity become null with the other ones."""
    return int(value) if value.is_finite() and value == value.to_integral() else float(value)
