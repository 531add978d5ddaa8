"""The plot of a search: a list from every arm, one order of all candidates, one page of it."""

from collections.abc import Callable, Sequence
from typing import Any

from pgblend.plpy.fusion.lists import documents_once, fuse_lists
from pgblend.plpy.fusion.scores import scale_fused
from pgblend.plpy.graph.fuse import graph_stage
from pgblend.plpy.models.rerank import rerank_stage
from pgblend.plpy.refine.choose import choose_passages
from pgblend.plpy.refine.diversity import diverse_items
from pgblend.plpy.search.arms import Arms
from pgblend.plpy.search.lists import gathered_lists
from pgblend.plpy.search.page import cut_page, start_of
from pgblend.plpy.search.passages import StoredPassages, stored_passages
from pgblend.plpy.search.plan import Request
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.rows import page_columns
from pgblend.plpy.search.stages import Search
from pgblend.plpy.search.told import told_trace
from pgblend.plpy.session import Database

_NO_WORDS = {
    "problem": "no passage was found by its words",
    "hint": "these rows are the nearest by vectors; the option strict leaves them out",
}


def rank_passages(db: Database, request: Request) -> dict[str, Any]:
    """Return one page of a search, as the columns of _rank_passages."""
    search = Search(db, request)
    gathered = gather(search)
    stored = read_candidates(search, gathered)
    pool = fuse(search, gathered["lists"], stored)
    pool = add_graph(search, pool, stored)
    ranking = refine(search, pool, stored)
    ranking = diversify(search, pool, ranking, stored)
    page = cut_page(search, pool, ranking, stored)
    trace = told_trace(search, pool, ranking, page, stored)
    return {**page_columns(search, gathered, pool, ranking, page, stored), "trace": trace}


def gather(search: Search) -> dict[str, Any]:
    """Ask every arm for its list, and models meanwhile (gathered_lists)."""
    arms, request = Arms(search), search.request
    tools: dict[str, Callable[..., Any]] = {
        "search": arms.find,
        "vectors_of": arms.vectors_of,
        "done": search.done,
        "skip": search.skip,
        "degrade": search.degrade,
    }
    with search.models() as models:
        try:
            gathered = gathered_lists(
                request.query, request.query_embedding, search.settings, models, tools
            )
        except ValueError as error:
            search.db.fail(str(error), "22023", "expand_query gives the texts.")
    if gathered["vector"] is not None and not search.settings.get("words_found", True):
        search.degrade("lexical", _NO_WORDS)
    return gathered


def read_candidates(search: Search, gathered: dict[str, Any]) -> StoredPassages:
    """Return what reads candidates by their ids; cosines of the vectors' arm are known."""
    stored = stored_passages(search.db.run, gathered["vector"], search.request.space)
    for of_list in gathered["lists"]:
        if of_list["arm"] == "vector":
            stored.known_cosines.update(zip(of_list["chunk_ids"], of_list["scores"], strict=True))
    return stored


def fuse(search: Search, lists: list[dict[str, Any]], stored: StoredPassages) -> Pool:
    """Fuse the lists into one order of all candidates; points are in [0, 1]."""
    settings = search.settings
    if settings["level"] == "document":
        lists = documents_once(lists)

    def moved_cosines(first: Sequence[int], passages: Sequence[int]) -> dict[int, float]:
        found: dict[int, float] = stored.moved_cosines(
            first, passages, settings["feedback"]["weight"]
        )
        return found

    fused = fuse_lists(lists, settings, search.plan.depth, moved_cosines, stored.ages_days)
    feedback = fused["feedback"]
    search.done(
        "fuse", len(fused["order"]), **({"details": {"feedback": feedback}} if feedback else {})
    )
    return Pool(lists, fused)


def add_graph(search: Search, pool: Pool, stored: StoredPassages) -> Pool:
    """If graph.weight > 0, fuse neighbours of the top candidates as one more list."""
    tools: dict[str, Callable[..., Any]] = {
        "done": search.done,
        "skip": search.skip,
        "warn": search.db.warn,
    }
    lists, fused, place = graph_stage(
        pool.lists, pool.fused, search.settings, stored, search.request.collection_ids, tools
    )
    return Pool(lists, fused, place)


def refine(search: Search, pool: Pool, stored: StoredPassages) -> Ranking:
    """Leave out repetitions, rerank and blend, leave out what is not good enough."""
    settings, fused = search.settings, pool.fused
    start = start_of(search, pool, fused["order"], fused["points"])
    spare = settings["mmr"]["pool"] if settings["mmr"]["lambda"] < 1 else 0
    needed = search.plan.wanted + max(start or 0, spare)
    with search.models() as models:
        tools: dict[str, Callable[..., Any]] = {
            "texts_of": stored.texts,
            "before": lambda kept: note_dedup(search, kept),
            "done": search.done,
            "degrade": search.degrade,
        }
        reranker = rerank_stage(search.request.query, fused, settings, models, tools)
        ranking = Ranking(reranker)
        chosen = choose_passages(
            fused,
            settings,
            needed,
            len(fused["order"]) if search.request.traced == "pool" else needed + 5,
            stored.texts,
            reranker.order,
            lambda items: ranking.relevances(items, pool, stored),
        )
    ranking.best, ranking.points = chosen["good"], chosen["points"]
    ranking.dropped = chosen["dropped"]
    ranking.places = {"fuse": fused["order"], "dedup": chosen["distinct"]}
    tell_refined(search, ranking, chosen["looked_at"])
    return ranking


def note_dedup(search: Search, kept: int) -> None:
    """Note how many candidates repeat no better one."""
    if search.settings["dedup"] == "off" and search.settings["per_document"] is None:
        search.skip("dedup", "by the setting dedup")
    else:
        search.done("dedup", kept)


def tell_refined(search: Search, ranking: Ranking, looked_at: int) -> None:
    """Note the stages dedup, rerank and blend."""
    settings, kept = search.settings, len(ranking.places["dedup"])
    if not settings["stages"]["rerank"]:
        note_dedup(search, kept)
        search.skip("rerank", settings["not_run"].get("rerank", settings["no_rerank"]))
    for stage in search.stages:
        if stage["name"] == "dedup" and "ms" in stage:
            stage.update(rows=kept, details={"looked_at": looked_at, "dropped": looked_at - kept})
    scores = ranking.reranker.scores
    if not scores:
        search.skip("blend", "nothing was reranked")
        return
    ranking.places["rerank"] = sorted(scores, key=lambda item: -scores[item])
    ranking.places["blend"] = ranking.best
    search.done("blend", len(ranking.best))


def diversify(search: Search, pool: Pool, ranking: Ranking, stored: StoredPassages) -> Ranking:
    """If mmr.lambda < 1, put the best in order by maximal marginal relevance."""
    mmr, fused = search.settings["mmr"], pool.fused
    if mmr["lambda"] >= 1:
        search.skip("mmr", "lambda is 1")
        return ranking
    scaled = ranking.points
    if not ranking.reranker.scores:
        scaled = scale_fused(fused["sums"], fused["attainable"], search.settings["fused_scale"])
    scores = [scaled[item] for item in ranking.best]
    ranking.best = diverse_items(ranking.best, scores, fused["chunk_ids"], mmr, stored.vectors)
    ranking.places["mmr"] = ranking.best
    search.done("mmr", len(ranking.best))
    return ranking
