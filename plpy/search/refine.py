"""What is done with the best candidates, as far down the order as a page needs."""

from typing import TYPE_CHECKING

from pgblend.plpy.search.choose import distinct_items, diverse_items, good_items
from pgblend.plpy.search.page import relevance_scale, start_of, tell_ending
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.rerank import tell_repetitions
from pgblend.plpy.search.scores import scale_fused

if TYPE_CHECKING:
    from pgblend.plpy.search.log import Log
    from pgblend.plpy.search.query import Query
    from pgblend.plpy.search.store import StorePort

LEAST_MOST = 0.5  # a smaller best sum counts less than half of what a best score does


def look(query: "Query", pool: Pool, store: "StorePort", log: "Log") -> Pool:
    """Say what relevance is, and how far down to look at first; most candidates repeat nothing."""
    settings, fused = query.settings, pool.fused
    start = start_of(query, pool, fused.order, fused.points)
    spare = settings.mmr["pool"] if settings.mmr["lambda"] < 1 else 0
    scale = relevance_scale(query, pool, log)
    needed = query.wanted + max(start or 0, spare) + (settings.coverage is not None)
    first = max(needed, settings.rerank_depth if query.plan.reranks else 1)
    if query.request.traced in ("pool", "facets"):
        first = len(fused.order)
    return pool._replace(ranking=Ranking(scale, needed, first))


def drop_repetitions(query: "Query", pool: Pool, store: "StorePort", log: "Log") -> Pool:
    """Leave out what repeats a better one of the candidates that are looked at."""
    ranking, fused = pool.ranking, pool.fused
    seen = fused.order[: ranking.looked_at]
    distinct, dropped = distinct_items(seen, fused, query.settings, pool.stored.texts)
    return pool._replace(ranking=ranking._replace(distinct=distinct, dropped=dropped))


def keep_good(query: "Query", pool: Pool, store: "StorePort", log: "Log") -> Pool:
    """Leave out what is not good enough of the items in their order; pinned ones stay."""
    ranking, settings = pool.ranking, query.settings
    points, pinned = ranking.points, pool.pinned
    first = [item for item in ranking.best if item in pinned]
    items = ranking.best[len(first) :]
    least_gain = ranking.least_gain(settings.coverage)
    relevances: list[float | None] = [None] * len(items)
    if settings.min_relevance is not None or least_gain is not None:
        relevances = ranking.relevances(items, pool)
    scores = [points[item] for item in items]
    good, not_good = good_items(items, scores, relevances, settings, least_gain)
    dropped = {**ranking.dropped, **not_good}
    return pool._replace(ranking=ranking._replace(best=[*first, *good], dropped=dropped))


def is_enough(query: "Query", pool: Pool) -> bool:
    """Tell whether a page is whole: a choice does not change when more is looked at.

    Where scores and relevances fall together, none follows one that is not good enough.
    """
    ranking = pool.ranking
    if len(ranking.best) >= ranking.needed or pool.is_seen:
        return True
    falls = ranking.scale.curve is not None and not (query.plan.reranks or pool.ruled)
    return falls and any(why["stage"] == "page" for why in ranking.dropped.values())


def look_further(pool: Pool) -> Pool:
    """Look at twice as many candidates."""
    return pool._replace(ranking=pool.ranking._replace(looked_at=pool.ranking.looked_at * 2))


def tell_refined(query: "Query", pool: Pool, store: "StorePort", log: "Log") -> Pool:
    """Note the stages dedup, rerank and blend, and where the list does not end as it was asked."""
    ranking, plan = pool.ranking, query.plan
    kept, seen = len(ranking.distinct), min(ranking.looked_at, len(pool.fused.order))
    if not plan.reranks:
        tell_repetitions(query, log, kept)
        log.skip("rerank", plan.not_run.get("rerank", plan.no_rerank))
    dedup = log.ran().get("dedup")
    if dedup is not None:
        dedup.rows, dedup.details = kept, {"looked_at": seen, "dropped": seen - kept}
    places = {"fuse": pool.own_order, "dedup": ranking.distinct}
    if pool.ruled:
        places["rules"] = pool.fused.order
    scores = ranking.scores
    if scores:
        warn_of_scales(query, pool, log)
        places["rerank"] = sorted(scores, key=lambda item: -scores[item])
        places["blend"] = ranking.best
        log.done("blend", len(ranking.best))
    else:
        log.skip("blend", "nothing was reranked")
    pool = pool._replace(ranking=ranking._replace(looked_at=seen, places=places))
    tell_ending(query, pool, log)
    return pool


def warn_of_scales(query: "Query", pool: Pool, log: "Log") -> None:
    """Warn that raw sums are too small to weigh beside a reranker's scores.

    A blend by position has the fused order as a part of its own.
    """
    settings, most = query.settings, pool.fused.attainable
    if settings.fused_scale == "raw" and settings.blend["kind"] == "tiers" and most < LEAST_MOST:
        log.warn(
            f"fused sums of at most {most:.2g} are blended with a reranker's scores of up to 1: "
            "the fused order counts next to nothing",
            "The option fused_scale, attainable or minmax, brings sums to 0 to 1: "
            "the profiles balanced and gno have it.",
        )


def diversify(query: "Query", pool: Pool, store: "StorePort", log: "Log") -> Pool:
    """If mmr.lambda < 1, put the best in order by maximal marginal relevance."""
    mmr, fused, ranking = query.settings.mmr, pool.fused, pool.ranking
    if mmr["lambda"] >= 1:
        log.skip("mmr", "lambda is 1")
        return pool
    scaled = ranking.points
    if not ranking.scores:
        scaled = scale_fused(fused.sums, fused.attainable, query.settings.fused_scale)
    pinned = pool.pinned
    rest = [item for item in ranking.best if item not in pinned]
    first = [item for item in ranking.best if item in pinned]
    scores = [scaled[item] for item in rest]
    others = diverse_items(rest, scores, fused.chunk_ids, mmr, pool.stored.vectors)
    best = [*first, *others]
    log.done("mmr", len(best))
    return pool._replace(
        ranking=ranking._replace(best=best, places={**ranking.places, "mmr": best})
    )
