"""A query with the words that were put in place of its misspelt ones."""

import re
from collections.abc import Mapping
from typing import Any


def corrected_query(query: str | None, arms: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the query after the words that the fuzzy arm, one of a passage's arms, looked for.

    Without a query, as where only its vector is given, it is empty.
    """
    corrections = arms.get("fuzzy", {}).get("corrections", {})
    words = [re.sub('["-]', " ", word) for of_word in corrections.values() for word in of_word]
    return " ".join([*words, query or ""])
