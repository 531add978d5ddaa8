"""Ranked lists fused into one order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import count, repeat
from operator import add
from typing import Any

from pgblend.plpy.fusion.bonus import bonus_by_ways
from pgblend.plpy.fusion.scores import (
    comparable_scores,
    convex_fusion,
    scale_fused,
    score_range,
    weighted_sums,
)


def list_column(
    of_list: Mapping[str, Any], values: Iterable[Any], chunk_ids: Sequence[int], missing: Any
) -> list[Any]:
    """Return the list's values, in its order, by item of a pool; `missing` where it lacks one."""
    value_of = dict(zip(of_list["chunk_ids"], values, strict=False))  # counts are endless
    return list(map(value_of.get, chunk_ids, repeat(missing)))


def merge_lists(lists: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the passages of all lists, each once, as columns.

    A list has `chunk_ids`, `document_ids`, `chunk_indexes` and `scores`, best first. The pool has
    the first three for all items, by (document id, chunk index), so that a stable sort by score
    leaves ties in that order; and `ranks[list][item]`, from 1, None where the list lacks the item.
    """
    found = (
        zip(one["document_ids"], one["chunk_indexes"], one["chunk_ids"], strict=True)
        for one in lists
    )
    ordered = sorted(set().union(*found))
    columns = map(list, zip(*ordered, strict=True)) if ordered else ([], [], [])
    document_ids, chunk_indexes, chunk_ids = columns
    return {
        "chunk_ids": chunk_ids,
        "document_ids": document_ids,
        "chunk_indexes": chunk_indexes,
        "ranks": [list_column(of_list, count(1), chunk_ids, None) for of_list in lists],
    }


def documents_once(lists: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lists with each document once, where its first passage stood.

    All lists show a document by the same passage: the first that the list of the largest weight
    has, of equal ones the first list. Columns are those of merge_lists; `notes` follow their ranks.
    """
    shown: dict[int, tuple[int, int]] = {}
    for of_list in sorted(lists, key=lambda one: -one["weight"]):
        for document, passage in zip(
            of_list["document_ids"],
            zip(of_list["chunk_ids"], of_list["chunk_indexes"], strict=True),
            strict=True,
        ):
            shown.setdefault(document, passage)
    found = []
    for of_list in lists:
        first: dict[int, int] = {}
        for place, document in enumerate(of_list["document_ids"]):
            first.setdefault(document, place)
        notes = of_list.get("notes", {})
        ranks = [place + 1 for place in first.values()]
        found.append(
            {
                **of_list,
                "chunk_ids": [shown[document][0] for document in first],
                "document_ids": list(first),
                "chunk_indexes": [shown[document][1] for document in first],
                "scores": [of_list["scores"][place] for place in first.values()],
                "notes": {new: notes[old] for new, old in enumerate(ranks, 1) if old in notes},
            }
        )
    return found


MOST_HALVINGS = 1000.0  # a double has no smaller numbers than some halvings more give


def recency_decay(
    scores: Sequence[float], ages_days: Sequence[float | None], half_life_days: float | None
) -> list[float]:
    """Return score · 0.5^(age / half-life) of each item, in the order given.

    An age of one half-life halves a score, of two quarters it; scores in [0, 1] stay there. Ages
    below 0 (dates to come) count as 0, and so does None, an age that nobody knows. A half-life of
    None leaves all scores as they are.
    """
    if half_life_days is None:
        return list(scores)
    halvings = [min(max(age or 0.0, 0.0) / half_life_days, MOST_HALVINGS) for age in ages_days]
    return [score * 0.5**count for score, count in zip(scores, halvings, strict=True)]


def fuse_ranks(
    ranks: Sequence[Sequence[int | None]], weights: Sequence[float], k: float
) -> tuple[list[float], float]:
    """Return Σ weight / (k + rank) of each item, and what an item first in every list would get.

    `ranks[list][item]` starts at 1; None where the list lacks the item, which adds nothing. Terms
    are added from the smallest, so the order of the lists changes no bit and mirrored ranks tie
    (Python's own `sum` rounds differently from 3.12 on). Cormack, Clarke and Büttcher 2009.
    """
    terms = [
        [0.0 if rank is None else weight / (k + rank) for rank in of_list]
        for of_list, weight in zip(ranks, weights, strict=True)
    ]
    attainable = reduce(add, sorted(weight / (k + 1) for weight in weights), 0.0)
    if len(terms) == 2:
        return list(map(add, *terms)), attainable
    return [reduce(add, sorted(row)) for row in zip(*terms, strict=True)], attainable


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
