"""Requests and answers of the ports as JSON: a tuple with names is a list of its values."""

from collections.abc import Sequence
from types import UnionType
from typing import Any

# Of trips and their answers: a coordinator of a newer one than its shard gets none.
WIRE = 1
# A kind is a type of the ports: a NamedTuple, a Sequence of one, one or None, or what JSON has.


def built(kind: Any, value: Any) -> Any:
    """Return a value that JSON gave as its kind says."""
    if value is None:
        return None
    if isinstance(kind, UnionType):
        kind = kind.__args__[0]
    if hasattr(kind, "_fields"):
        return kind(*map(built, kind.__annotations__.values(), value))
    if getattr(kind, "__origin__", None) is Sequence and hasattr(kind.__args__[0], "_fields"):
        return [built(kind.__args__[0], one) for one in value]
    return value
