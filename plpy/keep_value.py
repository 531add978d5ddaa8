"""What a session remembers, a bounded number of values."""

from collections.abc import Hashable, MutableMapping
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def keep_value(kept: MutableMapping[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Keep a value and return it; where `most` are kept, those are forgotten first."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value
