"""A search's settings, parsed once, and what arms read of them."""

import json
from collections.abc import Hashable, Mapping, MutableMapping
from typing import Any

from pgblend.plpy.session import keep_value

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


READ_BY_ARMS = (
    *("b", "k1", "title_weight", "heading_weight", "level", "language"),
    *("lexical_index", "lexical_method", "damaged"),
    *("fuzzy", "fuzzy_method", "ef_search", "vector_scan", "rescore_factor"),
    *("strict", "timeouts_ms"),
)
MOST_DEPTHS = 10


def arm_settings(kept: MutableMapping[int, str], settings: Mapping[str, Any], depth: int) -> str:
    """Return as JSON what arms read of a search's settings, to find `depth` candidates.

    Every arm parses it, so the rest is left out. `kept` has the texts for these settings by depth.
    """
    text = kept.get(depth)
    if text is None:
        read = {name: settings[name] for name in READ_BY_ARMS if name in settings}
        text = keep_value(kept, depth, json.dumps({**read, "candidate_depth": depth}), MOST_DEPTHS)
    return text
