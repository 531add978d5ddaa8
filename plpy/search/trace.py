"""What the stages of a search did, and how candidates came to their places."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from pgblend.plpy.base.session import Json
from pgblend.plpy.search.candidates import ArmList, Fused
from pgblend.plpy.search.fusion import fuse_ranks

if TYPE_CHECKING:
    from pgblend.plpy.search.pool import Pool
    from pgblend.plpy.search.query import Query


def fused_parts(lists: Sequence[ArmList], fused: Fused, rrf_k: float) -> dict[str, list[float]]:
    """Return {name: its part of the sum by item}, which add up to the sums.

    Names are the lists' arms, and where they apply `feedback`
    (what the moved vector gave over the query's own), `bonus`, `recency`, `language` and `decay`
    (what age, another language and distances took, so none above 0), and `boost`.
    """
    if fused.normal is None:
        columns = [
            fuse_ranks([of_list], [weight], rrf_k)[0]
            for of_list, weight in zip(fused.ranks, fused.weights, strict=True)
        ]
    else:
        shares = [weight / fused.whole for weight in fused.weights]
        columns = [
            [share * score for score in of_list]
            for of_list, share in zip(fused.normal, shares, strict=True)
        ]
    parts = {of_list.arm: part for of_list, part in zip(lists, columns, strict=True)}
    if fused.unmoved is not None:
        place = next(number for number, one in enumerate(lists) if one.arm == "vector")
        own = [shares[place] * score for score in fused.unmoved]
        parts["feedback"] = [
            moved - before for moved, before in zip(parts["vector"], own, strict=True)
        ]
        parts["vector"] = own
    if any(fused.bonus):
        parts["bonus"] = list(fused.bonus)
    for name in ("recency", "language", "boost", "decay"):
        factors = getattr(fused, name)
        if factors is not None:
            rows = zip(*parts.values(), strict=True)
            parts[name] = [(left - 1) * fsum(row) for left, row in zip(factors, rows, strict=True)]
    return parts


def score_parts(of_sum: Mapping[str, float], shares: Mapping[str, float]) -> dict[str, float]:
    """Return {name: part}, without those of 0; the parts add up to the score.

    `shares` are the addends of the score: `fused`, and where it was reranked `rerank` and
    `position` (blend_addends). The fused share is given out in proportion to `of_sum`, the item's
    fused_parts. Where those add up to 0 it stays whole.
    """
    total, fused = fsum(of_sum.values()), shares["fused"]
    parts = {name: part * fused / total for name, part in of_sum.items()} if total else {}
    parts |= {name: share for name, share in shares.items() if total == 0 or name != "fused"}
    return {name: part for name, part in parts.items() if part}


class ScoreHistory(NamedTuple):
    """How the scores of a pool came about.

    `parts` are those of the fused sum by item (fused_parts), `addends` those of what was reranked
    (blend_addends). `fused` and `final` are the scores after fusion and at the end. `places` has
    the items of each stage in their order; one that a stage left out has no place there.
    """

    parts: Mapping[str, Sequence[float]]
    addends: Mapping[int, Mapping[str, float]]
    fused: Sequence[float]
    final: Sequence[float]
    places: Mapping[str, Sequence[int]]


def trace_candidates(
    items: Sequence[int],
    arms: Sequence[Mapping[str, dict[str, Json]]],
    weights: Mapping[str, float],
    history: ScoreHistory,
) -> list[dict[str, Json]]:
    """Return {arms, parts, scores, places} of each item; the parts add up to its score.

    `arms` are those of the items (candidate_arms), to which their lists' `weights` are added.
    """
    parts, addends, fused, final, places = history
    place_of = {
        stage: {item: place for place, item in enumerate(order, 1)}
        for stage, order in places.items()
    }
    is_blended = any("rerank" in of_item for of_item in addends.values())
    return [
        {
            "arms": {
                arm: {**said, **({"weight": weights[arm]} if arm in weights else {})}
                for arm, said in of_item.items()
            },
            "parts": score_parts(
                {name: part[item] for name, part in parts.items()},
                addends.get(item, {"fused": final[item]}),
            ),
            "scores": {"fuse": fused[item], **({"blend": final[item]} if is_blended else {})},
            "places": {stage: place[item] for stage, place in place_of.items() if item in place},
        }
        for item, of_item in zip(items, arms, strict=True)
    ]


def search_trace(query: "Query", pool: "Pool") -> dict[str, list[dict[str, Json]]]:
    """Return {rows} of a page's items and, where a pool is traced, {candidates} of all of it."""
    fused, ranking, lists = pool.fused, pool.ranking, pool.lists
    parts = fused_parts(lists, fused, query.settings.rrf_k)
    weights = {one.arm: weight for one, weight in zip(lists, fused.weights, strict=True)}
    points = fused.points, ranking.points
    history = ScoreHistory(parts, ranking.addends_of(pool), *points, ranking.places)

    def told(items: Sequence[int]) -> list[dict[str, Json]]:
        arms = ranking.arms_of(items, pool, query.settings.fused_scale)
        return trace_candidates(items, arms, weights, history)

    trace = {"rows": told(pool.page.items)}
    if query.request.traced in ("pool", "facets"):
        relevances = ranking.relevances(fused.order, pool)
        relevance_of = dict(zip(fused.order, relevances, strict=True))
        trace["candidates"] = [
            {
                "chunk_id": fused.chunk_ids[item],
                "document_id": fused.document_ids[item],
                "chunk_index": fused.chunk_indexes[item],
                "score": ranking.points[item],
                "relevance": relevance_of[item],
                **({"dropped": ranking.dropped[item]} if item in ranking.dropped else {}),
                **row,
            }
            for item, row in zip(fused.order, told(fused.order), strict=True)
        ]
    return trace
