"""A search's settings, parsed once for searches with the same."""

import json
from collections.abc import Hashable, Mapping, MutableMapping
from typing import Any

from pgblend.plpy.keep_value import keep_value

Settings = Mapping[str, Any]
MOST_SETTINGS = 50
LONGEST = 8000


def parsed_settings(kept: MutableMapping[Hashable, Settings], text: str) -> Settings:
    """Return the object that a JSON text stands for, which nobody may change.

    `kept` is where the session keeps fifty at most, and none of a long text (scores, vectors).
    """
    settings: Settings | None = kept.get(text)
    if settings is None:
        settings = json.loads(text)
        if len(text) <= LONGEST:
            keep_value(kept, text, settings, MOST_SETTINGS)
    return settings
