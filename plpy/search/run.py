"""The plot of a search: a list from every arm, one order of all candidates, one page of it."""

from collections.abc import Sequence

from pgblend.plpy.base.session import Database, UserError
from pgblend.plpy.search.arms import Arms
from pgblend.plpy.search.candidates import ArmList, Fused
from pgblend.plpy.search.choose import OrderOf, choose_passages
from pgblend.plpy.search.fusion import documents_once, fuse_lists
from pgblend.plpy.search.lists import Gathered, ListSearch, gathered_lists
from pgblend.plpy.search.page import Page, cut_page, relevance_scale, start_of, tell_ending
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.rerank import RerankStage
from pgblend.plpy.search.rows import Answer, Found, Ranked, page_rows
from pgblend.plpy.search.scores import scale_fused
from pgblend.plpy.search.stages import Request, Search
from pgblend.plpy.search.store import Highlights, StorePort
from pgblend.plpy.search.told import last_facts, note_last, note_logged, told_trace

LEAST_MOST = 0.5  # a smaller best sum counts less than half of what a best score does


def search(db: Database, request: Request, store: StorePort) -> Answer:
    """Return one search from its arguments to its rows, as the columns of _run_search.

    The `store` is where passages are.
    """
    search = Search(db, request, store)
    is_asked = not request.is_blank or (
        search.plan.needs_vectors and request.query_embedding is not None
    )
    found = find(search) if is_asked else nothing(search)
    trace, report = told_trace(search, found), None
    if search.search_id and request.traced != "rerank" and not request.is_blank:
        from pgblend.plpy.search.report import search_report  # where a log is kept

        note_logged(search)
        report = search_report(search, found)
    note_last(db, search.name, search.state.role, last_facts(search, found))
    return {"results": found.rows, "trace": trace, "report": report}


def find(search: Search) -> Found:
    """Return one page, by the profile alone or in an experiment."""
    if search.experiment is not None:
        from pgblend.plpy.search.experiment import interleaved, read_experiment

        experiment = read_experiment(search)
        if experiment is not None:
            return interleaved(search, experiment, ordered)
    search.begin()
    return with_fallback(search, rank(search))


def ordered(search: Search) -> Ranked:
    """Rank all candidates of all arms."""
    gathered = gather(search)
    stored = read_candidates(search, gathered)
    pool = fuse(search, gathered.lists, stored)
    highlights = Highlights(search.request.query, pool.lists)
    search.store.highlight(highlights)
    pool = add_graph(search, pool, stored)
    found = len(pool.fused.order)
    pool = apply_rules(search, pool, stored)
    ranking = refine(search, pool, stored)
    ranking = diversify(search, pool, ranking, stored)
    return Ranked(gathered, stored, pool, ranking, found, highlights)


def rank(search: Search) -> Found:
    """Rank all candidates of all arms, and return one page of them."""
    ranked = ordered(search)
    _, stored, pool, ranking, found, _ = ranked
    page = cut_page(search, pool, ranking, stored)
    rows = page_rows(search, ranked, page)
    search.done("fetch", len(rows))
    return Found(pool, page, ranking, stored, rows, found if search.had_time else None)


def nothing(search: Search) -> Found:
    """Return what a search without a query finds."""
    return Found(Pool([], Fused()), Page(0, [], []), None, StoredPassages(search.store))


def with_fallback(search: Search, found: Found) -> Found:
    """Return the nearest by vectors for words alone that are nowhere; else what was found."""
    settings = search.plan.settings
    if (
        search.plan.only_arm != "lexical"
        or found.candidate_count != 0
        or search.request.result_limit == 0
        or settings.strict
    ):
        return found
    space = search.state.space(settings.space)
    if space is None:
        return found
    query, ids = search.request.query or "", search.state.collection_ids
    if not search.store.may_stand_in(query, ids, space):
        return found
    before, stages = list(search.degraded), list(search.stages)
    search.look_for_vectors(is_required=False)
    search.by_vector()
    nearest = rank(search)
    if nearest.candidate_count:
        nearest.by_vector = True
        return nearest
    search.stages[:] = stages
    new = search.degraded[len(before) :]
    search.degraded[:] = [*before, *(note for note in new if note.startswith("vector: "))]
    return found


def gather(search: Search) -> Gathered:
    """Ask every arm for its list, and models meanwhile."""
    request, arms = search.request, Arms(search)
    vector = request.query_embedding if search.words_found else None
    query, space, is_traced = request.query or "", search.space_name, request.traced != "none"
    arms.expect(vector)
    with search.models() as models:
        lists = ListSearch(query, vector, search.plan, space, is_traced, arms, search, models)
        try:
            gathered = gathered_lists(lists)
        except ValueError as error:
            raise UserError(str(error), "expand_query gives the texts.") from None
    if request.traced == "facets":
        search.sample = arms.sample()
    if gathered.vector is not None and not search.words_found:
        hint = "these rows are the nearest by vectors; the option strict leaves them out"
        search.note("lexical", "no passage was found by its words", hint)
    return gathered


def read_candidates(search: Search, gathered: Gathered) -> StoredPassages:
    """Return what reads candidates by their ids; cosines of the vector arm are known."""
    stored = StoredPassages(
        search.store,
        gathered.vector,
        search.space_name,
        search.state.collection_ids,
        search.filter,
        search.settings.language,
        search.deadline,
    )
    for of_list in gathered.lists:
        if of_list.arm == "vector":
            found = of_list.found
            stored.known_cosines.update(zip(found.chunk_ids, found.scores, strict=True))
    return stored


def fuse(search: Search, lists: Sequence[ArmList], stored: StoredPassages) -> Pool:
    """Fuse the lists into one order of all candidates; points are in [0, 1]."""
    settings = search.settings
    if settings.level == "document":
        lists = documents_once(lists)

    def moved_cosines(first: Sequence[int], passages: Sequence[int]) -> dict[int, float]:
        return stored.moved_cosines(search.db, first, passages, settings.feedback["weight"])

    def language_factors(documents: Sequence[int]) -> Sequence[float] | None:
        from pgblend.plpy.search.fusion import other_language_factors

        query, factor = search.request.query or "", settings.other_languages
        return other_language_factors(query, stored.languages(documents), factor, search.db)

    fused = fuse_lists(
        lists, settings, search.depth(), moved_cosines, stored.ages_days, language_factors
    )
    details = {"feedback": fused.feedback} if fused.feedback else None
    search.done("fuse", len(fused.order), details)
    return Pool(lists, fused)


def add_graph(search: Search, pool: Pool, stored: StoredPassages) -> Pool:
    """If graph.weight > 0, fuse neighbours of the top candidates as one more list."""
    if search.settings.graph["weight"] == 0:
        search.skip("graph", "its weight is 0")
        return pool
    from pgblend.plpy.search.graph import graph_stage  # of few searches

    return Pool(*graph_stage(pool.lists, pool.fused, search.settings, stored, search))


def apply_rules(search: Search, pool: Pool, stored: StoredPassages) -> Pool:
    """Multiply scores and put documents first as the settings boosts, decays and pinned say."""
    settings = search.settings
    if not (settings.boosts or settings.decays or settings.pinned):
        return pool
    from pgblend.plpy.search.rules import rules_stage  # of few searches

    fused, ruled = rules_stage(pool.fused, settings, search.request.query, stored, search)
    return pool._replace(fused=fused, ruled=ruled)


def refine(search: Search, pool: Pool, stored: StoredPassages) -> Ranking:
    """Leave out repetitions, rerank and blend, leave out what is not good enough."""
    settings, fused, request = search.settings, pool.fused, search.request
    start = start_of(search, pool, fused.order, fused.points)
    spare = settings.mmr["pool"] if settings.mmr["lambda"] < 1 else 0
    scale = relevance_scale(search, pool, stored.vector is not None)
    needed = search.wanted + max(start or 0, spare) + (settings.coverage is not None)
    first = max(needed, settings.rerank_depth if search.plan.reranks else 1)  # most repeat nothing
    with search.models() as models:
        reranker = RerankStage(
            request.query or "",
            fused,
            settings,
            models,
            search,
            stored.texts,
            lambda kept: note_dedup(search, kept),
            is_on=search.plan.reranks,
            asks=request.traced != "rerank",
        )
        ranking = Ranking(reranker, scale)
        chosen = choose_passages(
            fused,
            settings,
            needed,
            len(fused.order) if request.traced in ("pool", "facets") else first,
            stored.texts,
            order_of(reranker, pool),
            lambda items: ranking.relevances(items, pool, stored),
            lambda: ranking.least_gain(settings.coverage),
            falls=scale.curve is not None and not (search.plan.reranks or pool.ruled),
            pinned=pool.ruled.pinned if pool.ruled else (),
        )
    ranking.best, ranking.points = chosen.good, chosen.points
    ranking.dropped, ranking.looked_at = chosen.dropped, chosen.looked_at
    ranking.places = {"fuse": pool.own_order, "dedup": chosen.distinct}
    if pool.ruled:
        ranking.places["rules"] = fused.order
    tell_refined(search, ranking)
    tell_ending(search, ranking, needed)
    return ranking


def order_of(reranker: RerankStage, pool: Pool) -> OrderOf:
    """Return what gives distinct items their final order, the pinned ones first."""
    ruled = pool.ruled
    if ruled is None:
        return reranker.order

    def ordered(items: Sequence[int], is_all: bool) -> tuple[list[int], Sequence[float]] | None:
        found = reranker.order(items, is_all)
        return found and ruled.pinned_first(*found)

    return ordered


def note_dedup(search: Search, kept: int) -> None:
    """Note how many candidates repeat no better one."""
    if search.settings.dedup == "off" and search.settings.per_document is None:
        search.skip("dedup", "by the setting dedup")
    else:
        search.done("dedup", kept)


def tell_refined(search: Search, ranking: Ranking) -> None:
    """Note the stages dedup, rerank and blend."""
    plan, kept = search.plan, len(ranking.places["dedup"])
    if not plan.reranks:
        note_dedup(search, kept)
        search.skip("rerank", plan.not_run.get("rerank", plan.no_rerank))
    dedup = search.ran().get("dedup")
    if dedup is not None:
        seen = ranking.looked_at
        dedup.rows, dedup.details = kept, {"looked_at": seen, "dropped": seen - kept}
    scores = ranking.reranker.scores
    if not scores:
        search.skip("blend", "nothing was reranked")
        return
    warn_of_scales(search, ranking.reranker.fused)
    ranking.places["rerank"] = sorted(scores, key=lambda item: -scores[item])
    ranking.places["blend"] = ranking.best
    search.done("blend", len(ranking.best))


def warn_of_scales(search: Search, fused: Fused) -> None:
    """Warn that raw sums are too small to weigh beside a reranker's scores.

    A blend by position has the fused order as a part of its own.
    """
    settings, most = search.settings, fused.attainable
    if settings.fused_scale == "raw" and settings.blend["kind"] == "tiers" and most < LEAST_MOST:
        search.db.warn(
            f"fused sums of at most {most:.2g} are blended with a reranker's scores of up to 1: "
            "the fused order counts next to nothing",
            "The option fused_scale, attainable or minmax, brings sums to 0 to 1; "
            "the profiles balanced and gno have it.",
        )


def diversify(search: Search, pool: Pool, ranking: Ranking, stored: StoredPassages) -> Ranking:
    """If mmr.lambda < 1, put the best in order by maximal marginal relevance."""
    mmr, fused = search.settings.mmr, pool.fused
    if mmr["lambda"] >= 1:
        search.skip("mmr", "lambda is 1")
        return ranking
    from pgblend.plpy.search.choose import diverse_items  # of few searches

    scaled = ranking.points
    if not ranking.reranker.scores:
        scaled = scale_fused(fused.sums, fused.attainable, search.settings.fused_scale)
    pinned = pool.ruled.pinned if pool.ruled else ()
    rest = [item for item in ranking.best if item not in pinned]
    first = [item for item in ranking.best if item in pinned]
    scores = [scaled[item] for item in rest]
    ranking.best = [*first, *diverse_items(rest, scores, fused.chunk_ids, mmr, stored.vectors)]
    ranking.places["mmr"] = ranking.best
    search.done("mmr", len(ranking.best))
    return ranking
