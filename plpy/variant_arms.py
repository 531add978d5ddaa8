"""The lists that an expanded query asks for."""

from collections.abc import Mapping
from typing import Any

from pgblend.plpy.query_groups import query_groups

Arm = tuple[str, str, float, str]  # kind, name, weight, text


def variant_arms(
    query: str, expansion: Mapping[str, Any], settings: Mapping[str, Any]
) -> list[Arm]:
    """Return (kind, name, weight, text) of each further list: by words, then by vectors.

    By the setting hyde 'query' there are none: its text takes the query's place instead. A list of
    weight 0 is not made, nor one of a way of searching whose own weight is 0. Phrases and
    exclusions bind all lists: a variant by words that lacks one of the query's is left out, while
    the vectors' arm takes them from the query.
    """
    if settings["hyde"] == "query":
        return []
    weights = settings["weights"]
    arms: list[Arm] = []
    for kind, key, name in (
        ("lexical", "lexicalQueries", "lexical_variant"),
        ("vector", "vectorQueries", "vector_variant"),
    ):
        if weights[kind] > 0 and weights.get(name, 0) > 0:
            arms += [
                (kind, f"{name}_{place}", weights[name], text)
                for place, text in enumerate(expansion[key], 1)
                if kind == "vector" or _conditions(text) == _conditions(query)
            ]
    if expansion["hyde"] and weights["vector"] > 0 and weights.get("hyde", 0) > 0:
        arms.append(("vector", "hyde", weights["hyde"], expansion["hyde"]))
    return arms


def _conditions(query: str) -> list[tuple[set[str], set[str]]]:
    """Return phrases and exclusions of a query; a variant may say the rest in other words."""
    if '"' not in query and "-" not in query:
        return []
    groups = [
        (
            {phrase.casefold() for phrase in group["phrases"]},
            {word.casefold() for word in group["excluded"]},
        )
        for group in query_groups(query)["groups"]
    ]
    return [group for group in groups if any(group)]
