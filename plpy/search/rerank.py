"""The best passages scored against the query; fused and rerank scores blended by position."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from pgblend.plpy.base.catalog import Blend
from pgblend.plpy.base.session import Json
from pgblend.plpy.lexical.words import cut_at_word
from pgblend.plpy.models.outcome import mask_secrets
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.scores import scale_fused

if TYPE_CHECKING:
    from pgblend.plpy.search.pool import Pool
    from pgblend.plpy.search.query import Log, Query
    from pgblend.plpy.search.store import StorePort


def rerank_targets(
    items: Sequence[int], document_ids: Sequence[int], level: str, depth: int
) -> list[int]:
    """Return what a reranker reads of `items`, best first: the first `depth` passages.

    At level document they are the best one of each of the first documents.
    """
    if level == "chunk":
        return list(items[:depth])
    first: dict[int, int] = {}
    for item in items:
        first.setdefault(document_ids[item], item)
        if len(first) == depth:
            break
    return list(first.values())


def checked_scores(answer: Mapping[str, Any], count: int) -> list[float] | str:
    """Return a score in [0, 1] for each of `count` texts, or what is wrong with the answer.

    `answer` is {"results": [{"index", "relevance_score"}, …]}, in any order. The gateway has
    brought scores to [0, 1]; nothing is squeezed here once more.
    """
    results = answer.get("results")
    if not isinstance(results, list) or not all(isinstance(one, Mapping) for one in results):
        return "the gateway's answer has no results"
    scores: dict[int, float] = {}
    for one in results:
        index, score = one.get("index"), one.get("relevance_score")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
            shown = mask_secrets(repr(index))
            return f"the gateway's answer has a score for text {shown:.50} of {count}"
        if isinstance(score, bool) or not isinstance(score, int | float) or not is_finite(score):
            return f"the gateway's answer has {mask_secrets(repr(score)):.50} for a score"
        if not 0 <= score <= 1:
            return f"the gateway's answer has a score of {score:.6g}: expected 0 to 1"
        if index in scores:
            return f"the gateway's answer has two scores for text {index}"
        scores[index] = float(score)
    if len(scores) != count:
        return f"the gateway gave {len(scores)} scores for {count} texts"
    return [scores[index] for index in range(count)]


def is_finite(score: float) -> bool:
    """Tell whether a float can hold a number: a whole one of JSON may have thousands of digits."""
    return abs(score) <= 1e308


MOST_CHARACTERS = 4000


def has_targets(query: "Query", pool: "Pool") -> bool:
    """Tell whether a reranker, where there is one, has all that it is to read."""
    if not query.plan.reranks or pool.ranking.targets is not None:
        return True
    return pool.is_seen or len(targets_of(query, pool)) >= query.settings.rerank_depth


def targets_of(query: "Query", pool: "Pool") -> list[int]:
    """Return what a reranker reads of the distinct items."""
    level, depth = query.settings.rerank_level, query.settings.rerank_depth
    return rerank_targets(pool.ranking.distinct, pool.fused.document_ids, level, depth)


def rerank(query: "Query", pool: "Pool", store: "StorePort", log: "Log") -> "Pool":
    """Put the distinct items in order by a reranker's scores, which is asked once.

    The setting rerank_scores has scores by chunk id, in place of a model's. Without an answer items
    keep their fused order. Pinned items come first.
    """
    ranking, fused, settings = pool.ranking, pool.fused, query.settings
    items, points = list(ranking.distinct), fused.points
    if query.plan.reranks and ranking.targets is None:
        ranking = ranking._replace(targets=targets_of(query, pool))
        tell_repetitions(query, log, len(items))
        if query.request.traced != "rerank":  # only what it would read is wanted
            ranking = ranking._replace(scores=scores_of(query, pool, ranking.targets or (), log))
    if ranking.scores:
        blend, scale = settings.blend, settings.fused_scale
        items, points, addends = blended_order(items, ranking.scores, fused, blend, scale)
        ranking = ranking._replace(addends=addends)
    if pool.ruled:
        items, points = pool.ruled.pinned_first(items, points)
    return pool._replace(ranking=ranking._replace(best=items, points=points))


def tell_repetitions(query: "Query", log: "Log", kept: int) -> None:
    """Note how many candidates repeat no better one."""
    if query.settings.dedup == "off" and query.settings.per_document is None:
        log.skip("dedup", "by the setting dedup")
    else:
        log.done("dedup", kept)


def scores_of(
    query: "Query", pool: "Pool", targets: Sequence[int], log: "Log"
) -> Mapping[int, float]:
    """Return the scores of the targets, of the caller or of the gateway."""
    given = query.settings.rerank_scores
    details: dict[str, Json] = {"given": True} if given else {}
    scores: Mapping[int, float] = {}
    if given:
        ids = pool.fused.chunk_ids
        scores = {item: float(given[str(ids[item])]) for item in targets if str(ids[item]) in given}
    elif targets:
        scores, details = asked_scores(query, pool, targets, log)
    log.done("rerank", len(scores), details)
    return scores


def asked_scores(
    query: "Query", pool: "Pool", targets: Sequence[int], log: "Log"
) -> tuple[dict[int, float], dict[str, Json]]:
    """Return the model's scores of the targets, and details; a blank text has 0."""
    texts = dict(zip(targets, read_texts(pool, targets), strict=True))
    read = {item: text for item, text in texts.items() if text.strip()}
    with query.models(log.db) as models:
        models.begin("rerank", {"query": query.text, "documents": list(read.values())})
        outcome = models.answer("rerank")
    details: dict[str, Json] = {"model_ms": outcome.ms}
    scores = outcome.problem or checked_scores(outcome.answer, len(read))
    if isinstance(scores, str):
        is_it = "Does the model of the setting rerank_model score passages?"
        log.degrade("rerank", scores, outcome.hint if outcome.problem else is_it)
        return {}, details
    return {**dict.fromkeys(targets, 0.0), **dict(zip(read, scores, strict=True))}, details


def read_texts(pool: "Pool", targets: Sequence[int]) -> list[str]:
    """Return what a reranker reads of the targets."""
    ids = pool.fused.ids(targets)
    texts = pool.stored.texts(ids)
    return [cut_at_word(texts[one].content, MOST_CHARACTERS) if one in texts else "" for one in ids]


def blend_addends(fused: float, rerank: float, rank: int, n: int, blend: Blend) -> dict[str, float]:
    """Return {fused, rerank, position}, which add up to the blended score (blend_scores).

    `blend` is the setting, `rank` the fused rank among the `n` items that were reranked.
    """
    weights = blend
    if blend["kind"] == "tiers":
        reached = (t for t in blend["tiers"] if rank <= (t.get("max_rank") or inf))
        weights = next(reached, blend["tiers"][-1])
    position = weights.get("position", 0)
    total = float(weights["fused"] + weights["rerank"] + position)
    if total <= 0:
        return dict.fromkeys(("fused", "rerank", "position"), 0.0)
    return {
        "fused": weights["fused"] * fused / total,
        "rerank": weights["rerank"] * rerank / total,
        "position": position * (1 - (rank - 1) / n) / total,
    }


def blend_ceiling(blend: Blend, most_fused: float) -> float:
    """Return the highest blended score there can be: fused `most_fused`, reranked 1, rank 1.

    The largest over all tiers, so that dividing by it brings every blended score to [0, 1] and
    changes no order.
    """
    parts = blend["tiers"] if blend["kind"] == "tiers" else [blend]
    ceilings = []
    for part in parts:
        position = part.get("position", 0)
        total = part["fused"] + part["rerank"] + position
        reached = part["fused"] * most_fused + part["rerank"] + position
        ceilings.append(reached / total if total > 0 else 0.0)
    return max(ceilings) or 1.0


def blend_scores(
    fused: Sequence[float],
    rerank: Sequence[float | None],
    blend: Blend,
    ranks: Sequence[int] | None = None,
    n: int | None = None,
) -> list[float]:
    """Return the blended score of each item.

    `ranks` are the fused ranks, by default the places in the order given (best fused score first);
    `n` is how many items were reranked, by default those of them here. Kinds:
    - tiers: `tiers` are [{max_rank, fused, rerank}] by rising max_rank (None or missing: to the
      end). The first that reaches the rank, or else the last, gives the weights (S0, S1: .75/.25 to
      rank 3, .60/.40 to rank 10, .40/.60 beyond).
    - position: weights `rerank`, `fused` and `position` (S2: .5, .3, .2) of the two scores and of
      1 - (rank - 1) / n.
    The score is the weighted mean, which is the weighted sum where the weights add up to 1.

    An item that was not reranked (None) has its fused score times the lowest blended one. So fused
    scores in [0, 1] stay in their order and below what the reranker saw. Where it saw none, fused
    scores stay as they are.
    """
    ranks = range(1, len(fused) + 1) if ranks is None else ranks
    n = sum(score is not None for score in rerank) if n is None else n
    blended = [
        None if other is None else _total(blend_addends(score, other, rank, n, blend))
        for score, other, rank in zip(fused, rerank, ranks, strict=True)
    ]
    floor = min((score for score in blended if score is not None), default=1.0)
    return [
        score * floor if total is None else total
        for score, total in zip(fused, blended, strict=True)
    ]


def _total(addends: Mapping[str, float]) -> float:
    return addends["fused"] + addends["rerank"] + addends["position"]


def blended_order(
    items: Sequence[int],
    scores: Mapping[int, float],
    fused: Fused,
    blend: Blend,
    scale: str,
) -> tuple[list[int], list[float], dict[int, dict[str, float]]]:
    """Return the items, best first, the scores in [0, 1] of all items, and what those add up.

    `items` are in fused order, `scores` has those that were reranked, and `scale` is the setting
    fused_scale. A rank is the place among the reranked ones.
    What was not reranked stays below, in its order. Of the reranked ones the last gives the addends
    of their scores (blend_addends).
    """
    seen = [item for item in items if item in scores]
    scaled = scale_fused(fused.sums, fused.attainable, scale)
    ceiling = blend_ceiling(blend, fused.attainable if scale == "raw" else 1.0)
    points, addends = {}, {}
    for rank, item in enumerate(seen, 1):
        told = blend_addends(scaled[item], scores[item], rank, len(seen), blend)
        points[item] = min(max(_total(told) / ceiling, 0.0), 1.0)
        share = 1 / ceiling if points[item] > 0 else 0.0  # a sum below 0 counts as 0
        addends[item] = {name: value * share for name, value in told.items()}
    seen.sort(key=lambda item: -points[item])
    floor = min(points.values(), default=1.0)
    below = [score * floor for score in fused.points]
    rest = [item for item in items if item not in scores]
    return [*seen, *rest], [points.get(item, score) for item, score in enumerate(below)], addends
