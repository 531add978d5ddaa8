"""The candidates that may be shown, as far down as a page needs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.refine.duplicates import drop_duplicates, near_duplicates


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


def good_items(
    items: Sequence[int],
    scores: Sequence[float],
    relevances: Sequence[float | None],
    settings: Mapping[str, Any],
) -> tuple[list[int], dict[int, dict[str, Any]]]:
    """Return the items that reach min_score and min_relevance, and why the others do not.

    `scores` and `relevances` are those of the items; one without a relevance reaches none.
    """
    least, relevant = settings["min_score"], settings["min_relevance"]
    kept = []
    dropped: dict[int, dict[str, Any]] = {}
    for item, score, relevance in zip(items, scores, relevances, strict=True):
        if score < least:
            dropped[item] = {"stage": "page", "reason": "min_score"}
        elif relevant is not None and (relevance is None or relevance < relevant):
            dropped[item] = {"stage": "page", "reason": "min_relevance"}
        else:
            kept.append(item)
    return kept, dropped


def choose_passages(
    pool: Mapping[str, Any],
    settings: Mapping[str, Any],
    needed: int,
    looked_at: int,
    texts_of: Callable[[Sequence[int]], Mapping[int, Mapping[str, Any]]],
    order_of: Callable[[Sequence[int], bool], tuple[list[int], Sequence[float]] | None],
    relevance_of: Callable[[Sequence[int]], Sequence[float | None]],
) -> dict[str, Any]:
    """Return {distinct, good, points, dropped, looked_at} of the pool's items, best first.

    Repetitions and what is not good enough are left out of the first `looked_at` items, of four
    times as many where fewer than `needed` are left: a choice does not change when more is looked
    at, so pages are parts of one list. `order_of(distinct items, is_all)` gives their final order
    and scores (points), None while it needs more of them. `relevance_of` gives relevances of
    items; it is asked only where min_relevance is set.
    """
    order = pool["order"]
    while True:
        is_all = looked_at >= len(order)
        distinct, dropped = distinct_items(order[:looked_at], pool, settings, texts_of)
        ordered = order_of(distinct, is_all)
        if ordered is not None:
            items, points = ordered
            relevances: Sequence[float | None] = [None] * len(items)
            if settings["min_relevance"] is not None:
                relevances = relevance_of(items)
            good, not_good = good_items(
                items, [points[item] for item in items], relevances, settings
            )
            if len(good) >= needed or is_all:
                return {
                    "distinct": distinct,
                    "good": good,
                    "points": points,
                    "dropped": {**dropped, **not_good},
                    "looked_at": min(looked_at, len(order)),
                }
        looked_at *= 4
