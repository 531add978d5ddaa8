"""The vectors that an expanded query needs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def vectors_of_texts(
    expansion: Mapping[str, Any], arms: Sequence[tuple[str, str, float, str]], joined: bool
) -> dict[str, str]:
    """Return {arm: vector as text} of those that the caller gave, by the names of variant_arms.

    `expansion` has `embeddings`: one for each of its vectorQueries, then one for hyde; ValueError
    where they are other than that many, or of several sizes. Where hyde is `joined` to the query,
    its vector is that of both, and stands for the query's.
    """
    given = expansion.get("embeddings") or []
    if not given:
        return {}
    names = [f"vector_variant_{place}" for place in range(1, len(expansion["vectorQueries"]) + 1)]
    names += ["hyde"] if expansion["hyde"] else []
    if len(given) != len(names) or len({len(vector) for vector in given}) != 1:
        found = f'options: "expansion" has {len(given)} embeddings for {len(names)} texts'
        raise ValueError(f"{found}: expected a vector of one size for each of them")
    if joined:
        return {"vector": json.dumps(given[-1])} if expansion["hyde"] else {}
    wanted = {name for kind, name, _, _ in arms if kind == "vector"}
    return {
        name: json.dumps(vector)
        for name, vector in zip(names, given, strict=True)
        if name in wanted
    }
