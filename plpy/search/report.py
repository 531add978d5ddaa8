"""What a search tells the search log of itself (datagram)."""

import json

from pgblend.plpy.base.session import Json
from pgblend.plpy.search.log import Log
from pgblend.plpy.search.pool import Pool
from pgblend.plpy.search.query import Query
from pgblend.plpy.search.store import StorePort
from pgblend.plpy.search.told import rows_of, since

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
