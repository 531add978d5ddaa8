"""What a session remembers, a bounded number of values."""

from collections.abc import Hashable, MutableMapping
from typing import TypeVar

Value = TypeVar("Value")


def keep_value(
    kept: MutableMapping[Hashable, Value], key: Hashable, value: Value, most: int
) -> Value:
    """Keep a value and return it; where `most` are kept, those are forgotten first."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value
