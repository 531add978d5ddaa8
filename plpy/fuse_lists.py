"""The lists of a search fused into one order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.bonus_by_ways import bonus_by_ways
from pgblend.plpy.comparable_scores import comparable_scores
from pgblend.plpy.convex_fusion import convex_fusion
from pgblend.plpy.fuse_ranks import fuse_ranks
from pgblend.plpy.merge_lists import merge_lists
from pgblend.plpy.recency_decay import recency_decay
from pgblend.plpy.scale_fused import scale_fused
from pgblend.plpy.score_range import score_range


def fuse_lists(
    lists: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    depth: int,
    moved_cosines: Callable[[Sequence[int], Sequence[int]], Mapping[int, float]],
    ages_days: Callable[[Sequence[int]], Sequence[float | None]],
) -> dict[str, Any]:
    """Return the pool of the lists' candidates (merge_lists) with their fused scores.

    Columns by item: `sums`, what fusion gave with bonus and recency, of at most `attainable`;
    `points`, the same in [0, 1]; `bonus`; `recency` (None without the setting). `order` has the
    items, best first. By list: `normal` scores in convex fusion, else None, and `weights`.
    `feedback` has the chunk ids that the query's vector was moved to: `moved_cosines` gives
    cosines of chunks to a vector moved towards others, `ages_days` the ages of documents.
    """
    pool = merge_lists(lists)
    count = len(pool["chunk_ids"])
    weights = [of_list["weight"] for of_list in lists]
    normal: Sequence[Sequence[float | None]] | None = None
    feedback = None
    if settings["fusion"] == "convex" and len(lists) > 1:
        method = settings["normalization"]
        scaled = [
            comparable_scores(of_list, scores, method, depth)
            for of_list, scores in zip(lists, pool["scores"], strict=True)
        ]
        (sums, weights), attainable = _convex_sums(lists, scaled), 1.0
        own = _own_vector(lists)
        if settings["feedback"]["passages"] > 0 and count and own is not None:
            first = _best_first(sums)
            scores = _moved_scores(own, pool, first, settings["feedback"], moved_cosines)
            scaled[own] = comparable_scores(lists[own], scores, method, depth)
            sums, weights = _convex_sums(lists, scaled)
            passages = first[: settings["feedback"]["passages"]]
            feedback = [pool["chunk_ids"][item] for item in passages]
        normal = [scores for scores, _ in scaled]
    elif len(lists) == 1 and settings["fused_scale"] == "attainable":
        low, high = score_range(lists[0])
        sums, attainable = (
            [max((score - low) / (high - low), 0.0) for score in pool["scores"][0]],
            1.0,
        )
        normal = [sums]
    else:
        sums, attainable = fuse_ranks(pool["ranks"], weights, settings["rrf_k"])
    bonus = [0.0] * count
    if settings["bonus"]["kind"] != "none" and (normal is None or len(lists) > 1):
        bonus, largest = bonus_by_ways(lists, pool["ranks"], settings["bonus"], attainable)
        sums = [sum(both) for both in zip(sums, bonus, strict=True)]
        attainable += largest
    recency = None
    if settings["recency_half_life_days"] is not None and count:
        ages = ages_days(pool["document_ids"])
        recency = recency_decay([1.0] * count, ages, settings["recency_half_life_days"])
        sums = [score * factor for score, factor in zip(sums, recency, strict=True)]
    points = scale_fused(sums, attainable, "attainable")
    return {
        **pool,
        "sums": sums,
        "attainable": attainable,
        "points": points,
        "order": _best_first(points),
        "bonus": bonus,
        "recency": recency,
        "normal": normal,
        "weights": weights,
        "feedback": feedback,
    }


def _best_first(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)  # stable, as sorted is


def _convex_sums(
    lists: Sequence[Mapping[str, Any]], scaled: Sequence[tuple[Sequence[float | None], float]]
) -> tuple[list[float], list[float]]:
    """Return the sums, and the lists' weights times their factors; alone where those are all 0."""
    own = [of_list["weight"] for of_list in lists]
    weights = [weight * factor for weight, (_, factor) in zip(own, scaled, strict=True)]
    if not any(weights):
        weights = own
    return convex_fusion([scores for scores, _ in scaled], weights), weights


def _own_vector(lists: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the place of the list by the query's own vector."""
    return next((place for place, one in enumerate(lists) if one["arm"] == "vector"), None)


def _moved_scores(
    place: int,
    pool: Mapping[str, Any],
    first: Sequence[int],
    feedback: Mapping[str, Any],
    moved_cosines: Callable[[Sequence[int], Sequence[int]], Mapping[int, float]],
) -> list[float | None]:
    """Return the scores of the list at that place for a vector moved to the first passages."""
    ids = pool["chunk_ids"]
    looked_at = first[: feedback["pool"]]
    moved = moved_cosines(
        [ids[item] for item in looked_at], [ids[item] for item in first[: feedback["passages"]]]
    )
    scores = list(pool["scores"][place])
    for item in looked_at:
        scores[item] = moved.get(ids[item], scores[item])
    return scores
