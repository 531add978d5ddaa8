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
    relevance_of: Callable[[Sequence[int]], Sequence[float | None]],
) -> dict[str, Any]:
    """Return {distinct, good, dropped, looked_at} of the pool's items, best first.

    Repetitions and what is not good enough are left out of the first `looked_at` items, of four
    times as many where fewer than `needed` are left: a choice does not change when more is looked
    at, so pages are parts of one list. `relevance_of` gives relevances of items; it is asked only
    where min_relevance is set.
    """
    order, points = pool["order"], pool["points"]
    while True:
        distinct, dropped = distinct_items(order[:looked_at], pool, settings, texts_of)
        relevances: Sequence[float | None] = [None] * len(distinct)
        if settings["min_relevance"] is not None:
            relevances = relevance_of(distinct)
        good, not_good = good_items(
            distinct, [points[item] for item in distinct], relevances, settings
        )
        if len(good) >= needed or looked_at >= len(order):
            return {
                "distinct": distinct,
                "good": good,
                "dropped": {**dropped, **not_good},
                "looked_at": min(looked_at, len(order)),
            }
        looked_at *= 4
