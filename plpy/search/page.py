"""What is done with the best candidates, as far down the order as a page needs; and the page."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgblend.plpy.base.catalog import Cursor
from pgblend.plpy.base.session import Json, ProgramError
from pgblend.plpy.search.choose import distinct_items, diverse_items, good_items
from pgblend.plpy.search.pool import Page, Pool, Ranking
from pgblend.plpy.search.query import Log, Query
from pgblend.plpy.search.relevance import (
    MOST_KNOWN,
    PRIORS,
    RANKED_BY,
    RANKING,
    Curve,
    Scale,
    Signals,
)
from pgblend.plpy.search.rerank import tell_repetitions
from pgblend.plpy.search.scores import scale_fused
from pgblend.plpy.search.store import StorePort

LEAST_MOST = 0.5  # a smaller best sum counts less than half of what a best score does


def look(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
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


def drop_repetitions(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """Leave out what repeats a better one of the candidates that are looked at."""
    ranking, fused = pool.ranking, pool.fused
    seen = fused.order[: ranking.looked_at]
    distinct, dropped = distinct_items(seen, fused, query.settings, pool.stored.texts)
    return pool._replace(ranking=ranking._replace(distinct=distinct, dropped=dropped))


def keep_good(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
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


def is_enough(query: Query, pool: Pool) -> bool:
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


def tell_refined(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
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


def warn_of_scales(query: Query, pool: Pool, log: Log) -> None:
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


def diversify(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
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


# Which meaning relevance has in a search.

_FIT = "pgblend calibrate fits a curve of a collection"


class Fit(NamedTuple):
    """What was fitted for a collection in a space (pgblend_data.calibration)."""

    space: str
    model: str
    mean: float
    deviation: float
    coefficients: Sequence[float] | None
    ranking: Mapping[str, Json] | None
    thresholds: Sequence[float | None] | None


def relevance_scale(query: Query, pool: Pool, log: Log) -> Scale:
    """Return the best scale that is known; none without a query's vector.

    A curve of the only collection searched comes first, then that of the model. Each counts where
    the lists are ranked as those that it was made of. Then comes chance; else relevance is the
    cosine.
    """
    space = query.space
    if space is None or pool.stored.vector is None:
        return Scale(None)
    fit = known_fit(query.state.calibrations, space.name, space.model)
    signals = signals_of(pool) if is_plain(query, pool, log) else None
    if signals is not None:
        ranking = {name: getattr(query.settings, name) for name in RANKED_BY}
        if fit and fit.coefficients and fit.ranking == ranking:
            curve = Curve(*fit.coefficients)
            return Scale("calibrated", signals, curve, thresholds=fit.thresholds or ())
        if space.model in PRIORS and ranking == RANKING:
            return Scale("prior", signals, PRIORS[space.model])
    if fit:
        return Scale("p_value", signals, chance=(fit.mean, fit.deviation))
    return Scale("cosine", signals)


def known_fit(texts: Sequence[str], space: str, model: str) -> Fit | None:
    """Return what was fitted in a space; None where that has had another model since."""
    fits = (Fit(**json.loads(text)) for text in texts)
    return next((one for one in fits if (one.space, one.model) == (space, model)), None)


def is_plain(query: Query, pool: Pool, log: Log) -> bool:
    """Tell whether both arms gave all that they have, for the query as it stands."""
    arms = {one.arm for one in pool.lists}
    is_whole = log.had_time and log.index.reach is None
    return is_whole and arms >= {"lexical", "vector"} and not query.plan.expands


def signals_of(pool: Pool) -> Signals:
    """Return what the lists say of how well the query is answered."""
    best = {one.arm: max(one.found.scores, default=0.0) for one in pool.lists}
    perfect = next((one.found.perfect for one in pool.lists if one.arm == "lexical"), None)
    first, second = ([pool.own_points[item] for item in pool.own_order[:2]] + [0.0, 0.0])[:2]
    known = next((one.known for one in pool.lists if one.arm == "lexical"), 0.0)
    words = best["lexical"] / (perfect or 1.0)
    return Signals(first, second, best["vector"], words, min(known, MOST_KNOWN))


def tell_ending(query: Query, pool: Pool, log: Log) -> None:
    """Name where a list does not end as it was asked; one row more than a page was needed."""
    settings, ranking = query.settings, pool.ranking
    basis = ranking.basis
    meant = {"cosine": f"is compared with cosines; {_FIT}", None: "has no vectors to go by"}
    for name in ("min_relevance", "abstain_below"):
        if getattr(settings, name) is not None and basis in meant:
            log.degraded.append(f"relevance: {name} {meant[basis]}")
    if settings.coverage is None:
        return
    coverage = f"coverage {settings.coverage:g}"
    if basis != "calibrated":
        told = f"{coverage} is not known where relevance is {basis}; {_FIT}"
    elif ranking.least_gain(settings.coverage) is None:
        told = f"no list holds the relevant passage of its judged queries so often as {coverage}"
    elif len(ranking.best) >= ranking.needed:
        told = f"the list of {coverage} has more rows than were asked for"
    else:
        return
    log.degraded.append(f"relevance: {told}")


def page_start(order: Sequence[tuple[float, int, int]], after: Cursor | None) -> int | None:
    """Return the place, from 0, of the first row after the one that `after` names.

    `order` has (score, document id, chunk index) of all rows, best first; `after` the same three by
    name. No `after` gives 0. A row that is there is found by its document and chunk index, however
    its score may have changed. One that was deleted since stands where its score would put it.
    Where rows are not in order of their scores, as after MMR, such a row has no place: None.
    """
    if not after:
        return 0
    key = (after["document_id"], after["chunk_index"])
    for place, (_, document_id, chunk_index) in enumerate(order):
        if (document_id, chunk_index) == key:
            return place + 1
    ranked = [(-score, document_id, chunk_index) for score, document_id, chunk_index in order]
    if ranked != sorted(ranked):
        return None
    return sum(row < (-after["score"], *key) for row in ranked)


def start_of(query: Query, pool: Pool, items: Sequence[int], points: Sequence[float]) -> int | None:
    """Return where the option after lets a page begin in items; 0 without it (page_start)."""
    after = query.settings.after
    return page_start(pool.keys(items, points), after) if after else 0


def cut_page(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """Cut the page that was asked for; warn where it reaches beyond the depth."""
    ranking = pool.ranking
    start = start_of(query, pool, ranking.best, ranking.points)
    if start is None:
        raise ProgramError(
            "the row of the option after is no longer found",
            "Begin again without after, or use offset.",
        )
    start += query.settings.offset
    end = page_end(query, start, log)
    return with_page(pool, start, ranking.best[start:end], log)


def page_end(query: Query, start: int, log: Log) -> int:
    """Return where a page ends that begins at a place; warn where that is beyond the depth."""
    settings, limit, depth = query.settings, query.request.result_limit, query.depth()
    if start + limit > depth:
        deciding = "over_fetch" if settings.over_fetch.get("factor") else "candidate_depth"
        is_cursor = "depth" in settings.after
        again = " and begin again without after" if is_cursor else ""
        log.warn(
            f"rows beyond {deciding} ({depth}) are not found: offset {start} + limit"
            f" {limit} asks for more",
            f"Raise the option {deciding}{again}.",
        )
    return min(start + limit, depth)


def with_page(pool: Pool, start: int, items: Sequence[int], log: Log) -> Pool:
    """Return the pool with a page of these items."""
    ranking = pool.ranking
    relevances = ranking.relevances(items, pool)
    ranking = ranking._replace(places={**ranking.places, "page": ranking.best})
    log.done("page", len(items), {"relevance": ranking.told_scale()})
    return pool._replace(ranking=ranking, page=Page(start, items, relevances))
