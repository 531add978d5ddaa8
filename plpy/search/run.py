"""The plot of a search: a list from every arm, one order of all candidates, one page of it.

Each stage takes the query, what was found so far (a pool), where passages are (the store) and the
log. It returns the pool with what it adds.
"""

from pgblend.plpy.search.arms import gather
from pgblend.plpy.search.fusion import fuse
from pgblend.plpy.search.page import (
    cut_page,
    diversify,
    drop_repetitions,
    is_enough,
    keep_good,
    look,
    look_further,
    tell_refined,
)
from pgblend.plpy.search.pool import Pool, empty_pool
from pgblend.plpy.search.query import Log, Query
from pgblend.plpy.search.rerank import has_targets, rerank
from pgblend.plpy.search.rows import fetch_rows
from pgblend.plpy.search.store import Highlights, StorePort


def rank(query: Query, store: StorePort, log: Log) -> Pool:
    """Rank all candidates of all arms, and return them with one page."""
    pool = ranked(query, store, log)
    pool = cut_page(query, pool, store, log)
    return fetch_rows(query, pool, store, log)


def ranked(query: Query, store: StorePort, log: Log) -> Pool:
    """Rank all candidates of all arms."""
    pool = empty_pool(query, store)
    pool = gather(query, pool, store, log)
    pool = fuse(query, pool, store, log)
    pool = highlight(query, pool, store, log)
    pool = add_graph(query, pool, store, log)
    pool = apply_rules(query, pool, store, log)
    pool = refine(query, pool, store, log)
    return diversify(query, pool, store, log)


def highlight(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """Say what snippets mark, before the first passage is read."""
    highlights = Highlights(query.request.query, pool.lists)
    store.highlight(highlights)
    return pool._replace(highlights=highlights)


def add_graph(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """If graph.weight > 0, fuse neighbours of the top candidates as one more list."""
    if query.settings.graph["weight"] == 0:
        log.skip("graph", "its weight is 0")
        return pool
    from pgblend.plpy.search.graph import search_graph  # of few searches

    return search_graph(query, pool, store, log)


def apply_rules(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """Follow rules where there are any: the settings boosts, decays and pinned."""
    settings = query.settings
    if not (settings.boosts or settings.decays or settings.pinned):
        return pool
    from pgblend.plpy.search.rules import follow_rules  # of few searches

    return follow_rules(query, pool, store, log)


def refine(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """Take the best, drop repetitions, rerank, drop what is not good; too few: twice as many."""
    pool = look(query, pool, store, log)
    while True:
        pool = drop_repetitions(query, pool, store, log)
        if has_targets(query, pool):
            pool = rerank(query, pool, store, log)
            pool = keep_good(query, pool, store, log)
            if is_enough(query, pool):
                return tell_refined(query, pool, store, log)
        pool = look_further(pool)
