"""The lists of a search fused into one order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.bonus_by_ways import bonus_by_ways
from pgblend.plpy.comparable_scores import comparable_scores
from pgblend.plpy.convex_fusion import convex_fusion
from pgblend.plpy.fuse_ranks import fuse_ranks
from pgblend.plpy.list_column import list_column
from pgblend.plpy.merge_lists import merge_lists
from pgblend.plpy.recency_decay import recency_decay
from pgblend.plpy.scale_fused import scale_fused
from pgblend.plpy.score_range import score_range
from pgblend.plpy.weighted_sums import weighted_sums


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
    items, best first. By list: `normal` scores by item in convex fusion (0 where the list lacks the
    item), else None, and `weights`.
    `feedback` has the chunk ids that the query's vector was moved to, and `unmoved` the vector
    list's normal scores before; both are None without feedback. `moved_cosines` gives cosines of
    chunks to a vector moved towards others, `ages_days` the ages of documents.
    """
    pool = merge_lists(lists)
    chunk_ids = pool["chunk_ids"]
    count = len(chunk_ids)
    weights = [of_list["weight"] for of_list in lists]
    normal: list[list[float]] | None = None
    feedback = unmoved = None
    if settings["fusion"] == "convex" and len(lists) > 1:
        sums, normal, weights, feedback, unmoved = _by_scores(
            lists, chunk_ids, settings, depth, moved_cosines
        )
        attainable = 1.0
    elif len(lists) == 1 and settings["fused_scale"] == "attainable":
        low, high = score_range(lists[0])
        shares = [max((score - low) / (high - low), 0.0) for score in lists[0]["scores"]]
        sums, attainable = list_column(lists[0], shares, chunk_ids, 0.0), 1.0
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
        "unmoved": unmoved,
    }


def _by_scores(
    lists: Sequence[Mapping[str, Any]],
    chunk_ids: Sequence[int],
    settings: Mapping[str, Any],
    depth: int,
    moved_cosines: Callable[[Sequence[int], Sequence[int]], Mapping[int, float]],
) -> tuple[list[float], list[list[float]], list[float], list[int] | None, list[float] | None]:
    """Return sums, normal scores, weights, feedback and unmoved scores of convex fusion."""
    scaled = [_scaled(of_list, chunk_ids, settings, depth) for of_list in lists]
    own = next((place for place, one in enumerate(lists) if one["arm"] == "vector"), None)
    feedback = unmoved = None
    if settings["feedback"]["passages"] > 0 and chunk_ids and own is not None:
        first = _best_first(weighted_sums(*_weighted(lists, scaled)))
        feedback = [chunk_ids[item] for item in first[: settings["feedback"]["passages"]]]
        unmoved = scaled[own][0]
        moved = _with_scores(lists[own], moved_cosines(chunk_ids, feedback))
        scaled[own] = _scaled(moved, chunk_ids, settings, depth)
    normal, weights = _weighted(lists, scaled)
    return convex_fusion(normal, weights), normal, weights, feedback, unmoved


def _best_first(scores: Sequence[float]) -> list[int]:
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)  # stable, as sorted is


def _with_scores(of_list: Mapping[str, Any], score_of: Mapping[int, float]) -> dict[str, Any]:
    """Return the list with other scores of some passages, of which it may have lacked some."""
    scores = {**dict(zip(of_list["chunk_ids"], of_list["scores"], strict=True)), **score_of}
    return {**of_list, "chunk_ids": list(scores), "scores": list(scores.values())}


def _scaled(
    of_list: Mapping[str, Any], chunk_ids: Sequence[int], settings: Mapping[str, Any], depth: int
) -> tuple[list[float], float]:
    """Return the list's normal scores by item, 0 where it lacks one, and its weight's factor."""
    normal, factor = comparable_scores(of_list, settings["normalization"], depth)
    return list_column(of_list, normal, chunk_ids, 0.0), factor


def _weighted(
    lists: Sequence[Mapping[str, Any]], scaled: Sequence[tuple[list[float], float]]
) -> tuple[list[list[float]], list[float]]:
    """Return normal scores and weights by list, with their factors unless those are all 0."""
    own = [of_list["weight"] for of_list in lists]
    weights = [weight * factor for weight, (_, factor) in zip(own, scaled, strict=True)]
    return [scores for scores, _ in scaled], weights if any(weights) else own
