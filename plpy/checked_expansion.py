"""The expansion of a query, as the gateway gives it."""

from collections.abc import Mapping
from typing import Any


def checked_expansion(answer: Any) -> dict[str, Any] | None:
    """Return {lexicalQueries, vectorQueries, hyde} of an answer, None where it has another shape.

    Missing lists are empty; blank texts and a blank hyde are left out; at most ten texts a list.
    """
    if not isinstance(answer, Mapping):
        return None
    hyde = answer.get("hyde")
    found: dict[str, Any] = {}
    for name in ("lexicalQueries", "vectorQueries"):
        texts = answer.get(name) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return None
        found[name] = [text for text in texts if text.strip()][:10]
    if hyde is not None and not isinstance(hyde, str):
        return None
    return {**found, "hyde": hyde if hyde and hyde.strip() else None}
