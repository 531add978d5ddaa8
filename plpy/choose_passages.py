"""The candidates that may be shown, as far down as a page needs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.distinct_items import distinct_items
from pgblend.plpy.good_items import good_items


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
