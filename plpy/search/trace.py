"""What is told of a search beyond its rows: how candidates came to their places, and to its log."""

import json
from collections.abc import Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from pgblend.plpy.base.session import Json
from pgblend.plpy.base.stages import rows_of, since
from pgblend.plpy.search.candidates import ArmList, Fused
from pgblend.plpy.search.fusion import fuse_ranks
from pgblend.plpy.search.pool import Pool
from pgblend.plpy.search.query import Log, Query
from pgblend.plpy.search.store import StorePort

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


_MOST_RESULTS = 10
_OF_ROW = ("rank", "chunk_id", "document_id", "score")
_MOST_NOTES, _LONGEST_NOTE = 10, 300
# Of a search that was not made to find something, by what was traced.
_PURPOSES = {"page": "explain", "pool": "diagnose", "facets": "facets"}
_PURPOSE = (
    "SELECT left(coalesce(nullif(current_setting('pgblend.purpose', true), ''), $1), 40) AS purpose"
)


def search_report(query: Query, pool: Pool, store: StorePort, log: Log) -> str:
    """Return the report as JSON, short enough for a datagram.

    {"search_id", "profile", "mode", "rows", "degraded", "top_score", "results": [the first ten:
    {"rank", "chunk_id", "document_id", "score"}, in an experiment with "experiment" and
    "profiles"], "purpose", "trace"}. _report_search adds who searched, for what, where and when,
    which are not the caller's word. purpose is the parameter pgblend.purpose, which evaluations
    (evaluation) and the page (typed) set: the caller's word on the caller's own row. Else it is
    explain, diagnose, facets or search. Views leave out what is no search of a user.
    """
    rows = pool.rows
    purpose = _PURPOSES.get(query.request.traced, "search")
    drafted = pool.draft.told_of if pool.draft else {}
    return json.dumps(
        {
            "search_id": query.search_id,
            "profile": query.state.profile,
            "mode": query.settings.mode,
            "rows": len(rows),
            "ms": since(query.request.started_at),
            "degraded": [note[:_LONGEST_NOTE] for note in log.degraded[:_MOST_NOTES]],
            "top_score": rows[0].score if rows else None,
            "results": [
                {name: getattr(row, name) for name in _OF_ROW} | drafted.get(row.chunk_id, {})
                for row in rows[:_MOST_RESULTS]
            ],
            "purpose": log.db.run(_PURPOSE, ["text"], purpose)[0]["purpose"],
            "trace": search_fields(query, pool, store, log),
        }
    )


def search_fields(query: Query, pool: Pool, store: StorePort, log: Log) -> dict[str, Json]:
    """Return what the log says of a search by S4's names, each where it is known.

    query_len (characters), top_k, strategy (dense, sparse, fuzzy or hybrid), strict, rrf_k and
    mmr_lambda where they are in force, files_touched (different documents), dedup_ratio (the share
    of what dedup looked at that it left out), time_to_first_result_ms. Where the words were
    searched there are bm25_status (uninitialized, building, error, empty or ready), timeout_ms,
    attempts and bm25_results. A search by vectors has dense_results. The key fallback_used says
    that vectors stand in for words that found nothing or could not be searched. There are bm25_len
    and dense_len then.
    """
    settings, stages = query.asked, log.ran()
    by_words, by_vectors = settings.weights["lexical"] > 0, settings.weights["vector"] > 0
    strategy = "hybrid" if by_words and by_vectors else "sparse" if by_words else "dense"
    if not (by_words or by_vectors):
        strategy = "fuzzy"
    words = rows_of(stages.get("lexical")) if by_words else None
    dense = stages["vector"].rows if "vector" in stages else None
    ranking, dedup_ratio = pool.ranking, None
    if ranking.looked_at and "dedup" in stages:
        dedup_ratio = (ranking.looked_at - len(ranking.distinct)) / ranking.looked_at
    lacked = log.tries.problem is not None and words == 0 and (dense or 0) > 0
    fallback_used = pool.by_vector or lacked
    fields: dict[str, Json] = {
        "query_len": len(query.text),
        "top_k": query.request.result_limit,
        "strategy": strategy,
        "strict": settings.strict,
        "rrf_k": settings.rrf_k if strategy == "hybrid" and settings.fusion == "rrf" else None,
        "mmr_lambda": settings.mmr["lambda"] if settings.mmr["lambda"] != 1 else None,
        "files_touched": len({row.document_id for row in pool.rows}),
        "dedup_ratio": dedup_ratio,
        "time_to_first_result_ms": since(query.request.started_at),
        "dense_results": dense,
        "fallback_used": fallback_used,
        "bm25_len": words if fallback_used else None,
        "dense_len": dense if fallback_used else None,
    }
    if by_words:
        fields |= {
            "bm25_status": log.tries.status or index_status(query, store, words),
            "timeout_ms": settings.timeouts_ms["lexical"],
            "attempts": log.tries.attempts,
            "bm25_results": words,
        }
    return {name: value for name, value in fields.items() if value is not None}


def index_status(query: Query, store: StorePort, words: int | None) -> str:
    """Return empty where there is nothing to search, else ready."""
    if words:
        return "ready"
    return "ready" if store.has_chunks(query.collection_ids) else "empty"
