"""The best passages scored against the query."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgblend.plpy.base.session import Json
from pgblend.plpy.lexical.words import cut_at_word
from pgblend.plpy.models.outcome import mask_secrets

if TYPE_CHECKING:
    from pgblend.plpy.search.log import Log
    from pgblend.plpy.search.pool import Pool
    from pgblend.plpy.search.query import Query
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
        from pgblend.plpy.search.blend import blended_order  # of few searches

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
