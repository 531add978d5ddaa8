"""One call of a search, from its arguments to its rows, and what is told of it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic

from pgblend.plpy.base.ports import Space
from pgblend.plpy.base.session import Database, Json, keep_value
from pgblend.plpy.base.stages import rows_of, since
from pgblend.plpy.base.unchanged import end_unchanged
from pgblend.plpy.lexical.query import (
    binding_operands,
    excluded_texts,
    plain_quotes,
    without_phrases,
)
from pgblend.plpy.search.arms import begin, look_for_vectors
from pgblend.plpy.search.pool import Pool, Row, empty_pool
from pgblend.plpy.search.query import Log, Query, Request, read_query
from pgblend.plpy.search.rerank import read_texts
from pgblend.plpy.search.rows import Answer, wanted_columns
from pgblend.plpy.search.run import rank
from pgblend.plpy.search.store import StorePort


def search(db: Database, request: Request, store: StorePort) -> Answer:
    """Return the columns of _run_search; the `store` is where passages are."""
    try:
        return answered(db, request, store)
    finally:
        end_unchanged(db)


def answered(db: Database, request: Request, store: StorePort) -> Answer:
    """Search, and note what last_search and the log tell of it."""
    log = Log(db, request)
    query = read_query(db, request)
    log.plan = query.plan
    store.note_spaces(query.state.spaces)
    has_vector = query.plan.needs_vectors and request.query_embedding is not None
    pool = empty_pool(query, store)
    if has_vector or not request.is_blank:
        query, pool = found(query, store, log)
    trace, report = told_trace(query, pool, log), None
    if query.search_id and request.traced != "rerank" and not request.is_blank:
        from pgblend.plpy.search.trace import search_report  # where a log is kept

        note_logged(query, log)
        report = search_report(query, pool, store, log)
    note_last(db, query.name, query.state.role, last_facts(query, pool, log))
    return {"results": wanted_columns(query, pool.rows), "trace": trace, "report": report}


def found(query: Query, store: StorePort, log: Log) -> tuple[Query, Pool]:
    """Return one page, by the profile alone or in an experiment; and the query that found it."""
    if query.experiment is not None:
        from pgblend.plpy.search.experiment import interleaved, read_experiment

        experiment = read_experiment(query, log)
        if experiment is not None:
            return query, interleaved(query, experiment, store, log)
    query = begin(query, store, log)
    pool = by_words_of_phrases(query, rank(query, store, log), store, log)
    return with_fallback(query, pool, store, log)


def by_words_of_phrases(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """Return what has words of phrases that no passage has; else what was found."""
    settings = query.settings
    if pool.found != 0 or '"' not in plain_quotes(query.text) or settings.strict:
        return pool
    loosened = without_phrases(query.text)
    by_words = settings.weights["lexical"] > 0 or query.plan.only_arm == "fuzzy"
    if loosened is None or not by_words or not query.request.result_limit:
        return pool
    stages = list(log.stages)
    log.stages.clear()
    words = rank(replace(query, request=query.request._replace(query=loosened)), store, log)
    if not words.found:
        log.stages[:] = stages
        return pool
    hint = "These rows are by its words, and the option strict leaves them out"
    log.note("phrases", "no passage has what is in quotes", hint)
    return words


def may_stand_in(query: Query, store: StorePort, log: Log, space: Space) -> bool:
    """Tell whether vectors may stand in for words that are nowhere: nothing else must hold."""
    ids = query.collection_ids
    if binding_operands(log.db, query.text, lambda: store.configurations(ids)):
        return False
    return store.hold(space, ids, True).has_vectors


def with_fallback(query: Query, pool: Pool, store: StorePort, log: Log) -> tuple[Query, Pool]:
    """Return the nearest by vectors for words alone that are nowhere; else what was found."""
    settings, is_by_words = query.settings, query.plan.only_arm == "lexical"
    if not is_by_words or pool.found != 0 or not query.request.result_limit or settings.strict:
        return query, pool
    query = query.with_spaces(log.db)
    store.note_spaces(query.state.spaces)
    space = query.state.space(settings.space)
    if space is None or not may_stand_in(query, store, log, space):
        return query, pool
    before, stages = list(log.degraded), list(log.stages)
    query = look_for_vectors(query, store, log, is_required=False).by_vector()
    log.stages.clear()
    nearest = rank(query, store, log)
    if nearest.found:
        return query, nearest._replace(by_vector=True)
    log.stages[:] = stages
    new = log.degraded[len(before) :]
    log.degraded[:] = [*before, *(note for note in new if note.startswith("vector: "))]
    return query, pool


# What a search tells of itself to those who ask.

_MOST_NOTED = 50
_NOT_TOLD = {"content", "metadata", "context_before", "context_after", "degraded"}
_RAN = (
    "SELECT pgblend._asking_role()::text AS role,"
    " pgblend._milliseconds(statement_timestamp(), clock_timestamp()) AS most_ms"
)


def told_trace(query: Query, pool: Pool, log: Log) -> str | None:
    """Return as JSON what the search did, for those who ask; None where nobody does.

    `traced` rerank tells what a reranker reads, and page how each row came to its place. With pool
    it tells how each candidate did, and with facets a sample of what has the words as well.
    """
    traced, request = query.request.traced, query.request
    if traced == "rerank":
        return json.dumps({"passages": read_passages(pool)})
    if traced == "none":
        return None
    plan, state, draft = query.plan, query.state, pool.draft
    sources = plan.layers.sources(plan.options)
    sides = [(query, pool)] if draft is None else [(one.query, one.pool) for one in draft.sides]
    traces = [page_trace(*side) for side in sides]
    rows = {
        chunk_id: told
        for (_, side), trace in zip(sides, traces, strict=True)
        for chunk_id, told in zip(
            side.fused.ids(side.page.items), trace.get("rows", ()), strict=True
        )
    }
    return json.dumps(
        {
            "query": request.query,
            "profile": state.profile,
            "mode": plan.settings.mode,
            "meta": search_meta(query, log),
            "collections": sorted(state.collections),
            "settings": {
                name: {"value": getattr(plan.settings, name), "source": source}
                for name, source in sources.items()
            },
            "degraded": log.degraded,
            "total_ms": since(request.started_at),
            "results": [told_row(row) | rows[row.chunk_id] for row in pool.rows],
            "stages": [stage.told() for stage in log.stages],
            **{name: told for name, told in traces[0].items() if name != "rows"},
            **({"experiment": draft.told()} if draft else {}),
            **({"sample": pool.sample._asdict()} if pool.sample else {}),
        }
    )


def whole(number: float | None) -> float | None:
    """Return a whole number without a point, as the server writes it."""
    return int(number) if number is not None and number == int(number) else number


def told_row(row: Row) -> dict[str, Json]:
    """Return the columns of a row that explanations show."""
    told = {name: value for name, value in row._asdict().items() if name not in _NOT_TOLD}
    numbers = {"score": whole(row.score), "relevance": whole(row.relevance)}
    return told | numbers | {"details": json.loads(row.details)}


def read_passages(pool: Pool) -> list[dict[str, Json]]:
    """Return the passages that a reranker reads, best fused score first; the rival's go last."""
    passages: dict[int, str] = {}
    for side in [one.pool for one in pool.draft.sides] if pool.draft else [pool]:
        targets = side.ranking.targets or ()
        passages = (
            dict(zip(side.fused.ids(targets), read_texts(side, targets), strict=True)) | passages
        )
    return [{"chunk_id": chunk_id, "passage": passage} for chunk_id, passage in passages.items()]


def page_trace(query: Query, pool: Pool) -> dict[str, list[dict[str, Json]]]:
    """Return {rows} of the page and, of a pool, {candidates}: how each came to its place."""
    from pgblend.plpy.search.trace import search_trace  # of few searches

    return search_trace(query, pool) if pool.ranking.places else {}


def search_meta(query: Query, log: Log) -> dict[str, Json]:
    """Return what a search was, in four facts: {mode, expanded, reranked, vectorsUsed}.

    mode is bm25, vector or fuzzy of one arm alone, else hybrid, or bm25_only where no vectors were
    searched.
    """
    stages, arm = log.ran(), query.plan.only_arm
    mode = "bm25" if arm == "lexical" else arm
    return {
        "mode": mode or ("hybrid" if "vector" in stages else "bm25_only"),
        "expanded": rows_of(stages.get("expand")) > 0,
        "reranked": rows_of(stages.get("rerank")) > 0,
        "vectorsUsed": "vector" in stages,
    }


def note_logged(query: Query, log: Log) -> None:
    """Keep for the log what was searched (_send_report): nobody can write here by SQL."""
    from pgblend.plpy.search.datagram import Noted  # where a log is kept

    stated = log.db.run(_RAN, [])[0]
    noted = Noted(
        role=stated["role"],
        query=query.text,
        collections=[name[:100] for name in sorted(query.state.collections)[:50]],
        ms=(monotonic() - query.began) * 1000,
        stages=[  # warm_up depends on started_at, which is the caller's word
            {
                "name": stage.name,
                "ms": max(0, min(stage.ms, stated["most_ms"])),
                "rows": stage.rows,
            }
            for stage in log.stages
            if stage.skipped is None
        ],
    )
    keep_value(log.db.kept("searched"), query.search_id, noted, _MOST_NOTED)


def note_last(db: Database, name: str, role: str, report: Mapping[str, Json]) -> None:
    """Keep what a search did for last_search, to the end of the transaction; few ask for it.

    `name` is that of the parameter pgblend.last_search, which the transaction, or the savepoint,
    ends: so nobody finds it later.
    """
    db.session["pgblend_last_search"] = (name, role, report)


def last_facts(query: Query, pool: Pool, log: Log) -> dict[str, Json]:
    """Return what last_search tells of a search."""
    return {
        "mode": query.plan.settings.mode,
        "meta": search_meta(query, log),
        "arm": query.plan.only_arm,
        "rows": len(pool.rows),
        "candidates": pool.found,
        "excluded": excluded_texts(query.text),
        "degraded": log.degraded,
        "not_run": query.plan.not_run,
        "search_id": query.search_id,
        "ms": since(query.request.started_at),
    }
