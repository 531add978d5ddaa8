"""The candidates that repeat no better one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.drop_duplicates import drop_duplicates
from pgblend.plpy.near_duplicates import near_duplicates


def distinct_items(
    items: Sequence[int],
    pool: Mapping[str, Any],
    settings: Mapping[str, Any],
    texts_of: Callable[[Sequence[int]], Mapping[int, Mapping[str, Any]]],
) -> tuple[list[int], dict[int, dict[str, Any]]]:
    """Return those of the items, best first, that the settings dedup and per_document leave.

    And why each other one is dropped. `texts_of` gives content, start_offset and end_offset of
    chunk ids. Without text, titles tell passages apart: such passages do not repeat each other.
    """
    kind, most = settings["dedup"], settings["per_document"]
    if kind == "off" and most is None:
        return list(items), {}
    ids = pool["chunk_ids"]
    texts = texts_of([ids[item] for item in items]) if kind != "off" else {}

    def column(name: str) -> list[Any]:
        return [texts.get(ids[item], {}).get(name) for item in items]

    spans = kind in ("overlap", "near")
    contents = column("content")
    if not spans and most is None and len(set(contents)) == len(contents):
        return list(items), {}
    texted = [text if text and text.strip() else None for text in contents]
    repeats = drop_duplicates(
        texted,
        [pool["document_ids"][item] for item in items],
        column("start_offset") if spans else None,
        column("end_offset") if spans else None,
        near_duplicates(contents, settings["dedup_similarity"]) if kind == "near" else None,
        settings["dedup_overlap"],
        most,
        len(items),
    )
    dropped = {
        item: {
            "stage": "dedup",
            "reason": repeat[1],
            "likeness": repeat[2],
            "duplicate_of": ids[items[repeat[0]]],
        }
        for item, repeat in zip(items, repeats, strict=True)
        if repeat is not None
    }
    return [item for item in items if item not in dropped], dropped
