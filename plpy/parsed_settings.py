"""A search's settings, parsed once for searches with the same."""

import json
from collections.abc import Mapping, MutableMapping
from typing import Any

_MOST_KEPT = 50
_MOST_CHARACTERS = 8000


def parsed_settings(kept: MutableMapping[str, Mapping[str, Any]], text: str) -> Mapping[str, Any]:
    """Return the object that a JSON text stands for, which nobody may change.

    `kept` is where the session keeps what it has parsed: fifty texts at most, and no long ones.
    """
    parsed: Mapping[str, Any] | None = kept.get(text)
    if parsed is None:
        parsed = json.loads(text)
        if len(text) <= _MOST_CHARACTERS:
            if len(kept) == _MOST_KEPT:
                kept.clear()
            kept[text] = parsed
    return parsed
