"""The settings that arms read."""

import json
from collections.abc import Mapping, MutableMapping
from typing import Any

from pgblend.plpy.keep_value import keep_value

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
