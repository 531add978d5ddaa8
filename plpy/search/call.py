"""One call of a search, from its arguments to its rows, and what is told of it."""

from dataclasses import replace

from pgblend.plpy.base.ports import Space
from pgblend.plpy.base.session import Database
from pgblend.plpy.base.unchanged import end_unchanged
from pgblend.plpy.lexical.query import binding_conditions, plain_quotes, without_phrases
from pgblend.plpy.search.arms import begin, look_for_vectors
from pgblend.plpy.search.pool import Pool, empty_pool
from pgblend.plpy.search.query import Log, Query, Request, read_query
from pgblend.plpy.search.rows import (
    Answer,
    last_facts,
    note_last,
    note_logged,
    told_trace,
    wanted_columns,
)
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
    if binding_conditions(log.db, query.text, lambda: store.configurations(ids)):
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
