"""Lists of arms, as the stages that fuse them take them."""

from typing import Any


def arm(name: str, weight: float, rows: dict[int, float], perfect: float | None = 10.0) -> Any:
    """Return the list of an arm: scores by chunk; each is the first of a document of its number."""
    return {
        "arm": name,
        "kind": name,
        "by_vector": name == "vector",
        "weight": weight,
        "perfect": perfect,
        "chunk_ids": list(rows),
        "document_ids": list(rows),
        "chunk_indexes": [0] * len(rows),
        "scores": list(rows.values()),
    }


def never(*_: Any) -> Any:
    """Stand for what a stage must not ask for."""
    raise AssertionError("it is not asked for")
