"""A search's settings, parsed once for searches with the same."""

import json
from collections.abc import Hashable, Mapping, MutableMapping
from typing import Any

from pgblend.plpy.keep_value import keep_value

Parsed = tuple[Mapping[str, Any], dict[int, str]]
MOST_SETTINGS = 50
LONGEST = 8000


def parsed_settings(kept: MutableMapping[Hashable, Parsed], text: str) -> Parsed:
    """Return the object that a JSON text stands for, and a place to keep what is made of it.

    Nobody may change the object. `kept` is where the session keeps fifty at most, and none of a
    long text (scores, vectors).
    """
    parsed = kept.get(text)
    if parsed is None:
        parsed = json.loads(text), {}
        if len(text) <= LONGEST:
            keep_value(kept, text, parsed, MOST_SETTINGS)
    return parsed
