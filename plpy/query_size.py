"""How much a query asks for."""

import re

from pgblend.plpy.indexable_text import indexable_text
from pgblend.plpy.query_groups import query_groups


def query_size(query: str) -> tuple[int, int]:
    """Return how many different words a query has, and how many operators.

    Words are runs of letters and digits, of scripts without word spaces pairs of syllables.
    Operators are phrases, exclusions, and each `or` between alternatives.
    """
    words = set(re.findall(r"[^\W_]+", indexable_text(query).casefold()))
    groups = query_groups(query)["groups"]
    operators = sum(len(group["phrases"]) + len(group["excluded"]) for group in groups)
    return len(words), operators + max(len(groups) - 1, 0)
