"""The candidates that may be shown, as far down as a page needs."""

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import repeat
from math import inf
from typing import NamedTuple, TypeAlias

from pgblend.plpy.fusion.pool import Fused
from pgblend.plpy.ports import Passage
from pgblend.plpy.refine.duplicates import drop_duplicates, near_duplicates
from pgblend.plpy.refine.relevance import gains
from pgblend.plpy.session import Json
from pgblend.plpy.settings.catalog import SearchSettings

TextsOf: TypeAlias = Callable[[Sequence[int]], Mapping[int, Passage]]
OrderOf: TypeAlias = Callable[[Sequence[int], bool], tuple[list[int], Sequence[float]] | None]
Dropped: TypeAlias = dict[int, dict[str, Json]]  # by item: at which stage and why


class Chosen(NamedTuple):
    """What was chosen of the first `looked_at` items, best first, with all items' points.

    `distinct` repeat nothing, of which `good` are good enough; `dropped` says why others are not.
    """

    distinct: list[int]
    good: list[int]
    points: Sequence[float]
    dropped: Dropped
    looked_at: int


def distinct_items(
    items: Sequence[int], pool: Fused, settings: SearchSettings, texts_of: TextsOf
) -> tuple[list[int], Dropped]:
    """Return those of the items, best first, that the settings dedup and per_document leave.

    And why each other one is dropped. `texts_of` gives passages by chunk ids. Without text, titles
    tell passages apart: such passages do not repeat each other.
    """
    kind, most = settings.dedup, settings.per_document
    if kind == "off" and most is None:
        return list(items), {}
    ids = pool.ids(items)
    texts = texts_of(ids) if kind != "off" else {}
    passages = [texts.get(chunk_id) for chunk_id in ids]
    spans = kind in ("overlap", "near")
    contents = [passage.content if passage else None for passage in passages]
    if not spans and most is None and len(set(contents)) == len(contents):
        return list(items), {}
    repeats = drop_duplicates(
        [text if text and text.strip() else None for text in contents],
        [pool.document_ids[item] for item in items],
        [passage.start_offset if passage else None for passage in passages] if spans else None,
        [passage.end_offset if passage else None for passage in passages] if spans else None,
        near_duplicates(contents, settings.dedup_similarity) if kind == "near" else None,
        settings.dedup_overlap,
        most,
        len(items),
    )
    dropped: Dropped = {
        item: {
            "stage": "dedup",
            "reason": repeat[1],
            "likeness": repeat[2],
            "duplicate_of": ids[repeat[0]],
        }
        for item, repeat in zip(items, repeats, strict=True)
        if repeat is not None
    }
    return [item for item in items if item not in dropped], dropped


def good_items(
    items: Sequence[int],
    scores: Sequence[float],
    relevances: Sequence[float | None],
    settings: SearchSettings,
    least_gain: float | None = None,
) -> tuple[list[int], Dropped]:
    """Return the items that reach min_score, min_relevance and a gain, and why the others do not.

    `scores` and `relevances` are those of the items; one without a relevance reaches none. Gains
    are those of probabilities.
    """
    least, relevant = settings.min_score, settings.min_relevance
    kept = []
    dropped: Dropped = {}
    of_items = repeat(inf) if least_gain is None else gains([one or 0.0 for one in relevances])
    for item, score, relevance, gain in zip(items, scores, relevances, of_items, strict=False):
        if gain < (least_gain or 0.0):
            dropped[item] = {"stage": "page", "reason": "coverage"}
        elif score < least:
            dropped[item] = {"stage": "page", "reason": "min_score"}
        elif relevant is not None and (relevance is None or relevance < relevant):
            dropped[item] = {"stage": "page", "reason": "min_relevance"}
        else:
            kept.append(item)
    return kept, dropped


def choose_passages(
    pool: Fused,
    settings: SearchSettings,
    needed: int,
    looked_at: int,
    texts_of: TextsOf,
    order_of: OrderOf,
    relevance_of: Callable[[Sequence[int]], Sequence[float | None]],
    gain_of: Callable[[], float | None] = lambda: None,
    falls: bool = False,
    pinned: Container[int] = (),
) -> Chosen:
    """Return what may be shown of the pool's items, best first.

    Repetitions and what is not good enough are left out of the first `looked_at` items. Where fewer
    than `needed` are left, twice as many are looked at. A choice does not change when more is
    looked at, so pages are parts of one list. `order_of(distinct items, is_all)` gives their final
    order and scores (points), None while it needs more of them. `relevance_of` gives relevances of
    items; it is asked only where min_relevance is set, or a least gain (`gain_of`). Where
    scores and relevances fall (`falls`), none follows one that is not good enough. Of `pinned`
    items, which come first, all are.
    """
    order = pool.order
    while True:
        is_all = looked_at >= len(order)
        distinct, dropped = distinct_items(order[:looked_at], pool, settings, texts_of)
        ordered = order_of(distinct, is_all)
        if ordered is not None:
            items, points = ordered
            first = [item for item in items if item in pinned]
            items = items[len(first) :]
            least_gain = gain_of()
            relevances: Sequence[float | None] = [None] * len(items)
            if settings.min_relevance is not None or least_gain is not None:
                relevances = relevance_of(items)
            good, not_good = good_items(
                items, [points[item] for item in items], relevances, settings, least_gain
            )
            good = [*first, *good]
            is_end = falls and bool(not_good)
            if len(good) >= needed or is_all or is_end:
                seen = min(looked_at, len(order))
                return Chosen(distinct, good, points, {**dropped, **not_good}, seen)
        looked_at *= 2
