"""What a search tells when it is done: its answer, its notes, the search log."""

import json
from collections.abc import Mapping
from time import monotonic, time
from typing import NamedTuple

from pgblend.plpy.base.session import Database, Json, keep_value
from pgblend.plpy.base.stages import Stage
from pgblend.plpy.lexical.query import excluded_texts
from pgblend.plpy.search.rows import Found, Row
from pgblend.plpy.search.stages import Search

# One datagram of the search log, sent or not.

MOST_CHARACTERS = 4000


class Noted(NamedTuple):
    """What was searched, by whom, how long and in which stages, as the session itself saw it."""

    role: str
    query: str
    collections: list[str]
    ms: float
    stages: list[Mapping[str, Json]]


def searched_facts(
    report: Mapping[str, Json], noted: Noted, log_queries: str
) -> Mapping[str, Json]:
    """Return query, collections, ms, stages and trace of a report, by what was noted as it ran."""
    from hashlib import sha256  # a millisecond, which a search without a log goes without

    query = {
        "on": noted.query[:MOST_CHARACTERS],
        "hash": sha256(noted.query.encode("utf-8", "replace")).hexdigest(),
    }
    trace = report.get("trace")
    return {
        "query": query.get(log_queries),
        "collections": noted.collections,
        "ms": noted.ms,
        "stages": noted.stages,
        "trace": (dict(trace) if isinstance(trace, Mapping) else {})
        | {"time_to_first_result_ms": noted.ms},
    }


def send_datagram(address: str, content: str) -> bool:
    """Send a text to host:port or unix:/path, and return whether it left; never wait or raise.

    The host is an address in numbers or localhost, so that no name has to be looked up.
    """
    import socket  # some milliseconds, which a search without a log goes without

    family: int = socket.AF_UNIX
    place: str | tuple[str, int] = address.removeprefix("unix:")
    if not address.startswith("unix:"):
        host, _, port = address.rpartition(":")
        host = "127.0.0.1" if host == "localhost" else host.strip("[]")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        place = (host, int(port))
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(content.encode("utf-8", "replace"), place)
    except (OSError, OverflowError, ValueError):
        return False
    return True


# What a search tells of itself to those who ask.

_MOST_NOTED = 50
_NOT_TOLD = {"content", "metadata", "context_before", "context_after", "degraded"}
_RAN = (
    "SELECT pgblend._asking_role()::text AS role,"
    " pgblend._milliseconds(statement_timestamp(), clock_timestamp()) AS most_ms"
)


def told_trace(search: Search, found: Found) -> str | None:
    """Return as JSON what the search did, for those who ask; None where nobody does.

    `traced` rerank tells what a reranker reads, page how each row came to its place, pool how each
    candidate did, facets a sample of what has the words as well.
    """
    traced, request = search.request.traced, search.request
    if traced == "rerank":
        return json.dumps({"passages": read_passages(found)})
    if traced == "none":
        return None
    plan, state = search.plan, search.state
    sources = plan.layers.sources(plan.options)
    sides = found.sides or [(search, found)]
    traces = [page_trace(*side) for side in sides]
    rows = {
        chunk_id: told
        for (_, side), trace in zip(sides, traces, strict=True)
        for chunk_id, told in zip(
            side.pool.fused.ids(side.page.items), trace.get("rows", ()), strict=True
        )
    }
    return json.dumps(
        {
            "query": request.query,
            "profile": state.profile,
            "mode": plan.settings.mode,
            "meta": search_meta(search),
            "collections": sorted(state.collections),
            "settings": {
                name: {"value": getattr(plan.settings, name), "source": source}
                for name, source in sources.items()
            },
            "degraded": search.degraded,
            "total_ms": since(request.started_at),
            "results": [told_row(row) | rows[row.chunk_id] for row in found.rows],
            "stages": [stage.told() for stage in search.stages],
            **{name: told for name, told in traces[0].items() if name != "rows"},
            **({"experiment": told_experiment(found)} if found.sides else {}),
            **({"sample": search.sample._asdict()} if search.sample else {}),
        }
    )


def told_experiment(found: Found) -> dict[str, Json]:
    """Return an experiment's id and profiles, and the stages of the search by the rival."""
    return {**found.experiment, "stages": [stage.told() for stage in found.sides[1][0].stages]}


def since(started_at: float) -> float:
    """Return the milliseconds since a time."""
    return (time() - started_at) * 1000


def whole(number: float | None) -> float | None:
    """Return a whole number without a point, as the server writes it."""
    return int(number) if number is not None and number == int(number) else number


def told_row(row: Row) -> dict[str, Json]:
    """Return the columns of a row that explanations show."""
    told = {name: value for name, value in row._asdict().items() if name not in _NOT_TOLD}
    numbers = {"score": whole(row.score), "relevance": whole(row.relevance)}
    return told | numbers | {"details": json.loads(row.details)}


def read_passages(found: Found) -> list[dict[str, Json]]:
    """Return the passages that a reranker reads, best fused score first; the rival's go last."""
    passages: dict[int, str] = {}
    for side in [one for _, one in found.sides] or [found]:
        if side.ranking is not None:
            reranker = side.ranking.reranker
            targets = reranker.targets or []
            read = zip(side.pool.fused.ids(targets), reranker.passages(targets), strict=True)
            passages = dict(read) | passages
    return [{"chunk_id": chunk_id, "passage": passage} for chunk_id, passage in passages.items()]


def page_trace(search: Search, found: Found) -> dict[str, list[dict[str, Json]]]:
    """Return {rows} of the page and, of a pool, {candidates}: how each came to its place."""
    from pgblend.plpy.search.trace import search_trace  # of few searches

    ranking, pool = found.ranking, found.pool
    if ranking is None:
        return {}
    pool_facts = None
    if search.request.traced in ("pool", "facets"):
        items = pool.fused.order
        relevances = ranking.relevances(items, pool, found.stored)
        pool_facts = dict(zip(pool.fused.ids(items), relevances, strict=True)), ranking.dropped
    return search_trace(
        found.page.items,
        pool.lists,
        pool.fused,
        (ranking.points, ranking.addends_of(pool)),
        search.settings.rrf_k,
        ranking.places,
        lambda items: ranking.arms_of(items, pool, search.settings.fused_scale),
        pool_facts,
    )


def rows_of(stage: Stage | None) -> int:
    """Return the rows of a stage; 0 where it did not run."""
    return (stage and stage.rows) or 0


def search_meta(search: Search) -> dict[str, Json]:
    """Return what a search was, in four facts: {mode, expanded, reranked, vectorsUsed}.

    mode is bm25, vector or fuzzy of one arm alone, else hybrid, or bm25_only where no vectors were
    searched.
    """
    stages, arm = search.ran(), search.plan.only_arm
    mode = "bm25" if arm == "lexical" else arm
    return {
        "mode": mode or ("hybrid" if "vector" in stages else "bm25_only"),
        "expanded": rows_of(stages.get("expand")) > 0,
        "reranked": rows_of(stages.get("rerank")) > 0,
        "vectorsUsed": "vector" in stages,
    }


def note_logged(search: Search) -> None:
    """Keep for the log what was searched (_send_report): nobody can write here by SQL."""
    # where a log is kept

    stated = search.db.run(_RAN, [])[0]
    noted = Noted(
        role=stated["role"],
        query=search.request.query or "",
        collections=[name[:100] for name in sorted(search.state.collections)[:50]],
        ms=(monotonic() - search.began) * 1000,
        stages=[  # warm_up depends on started_at, which is the caller's word
            {
                "name": stage.name,
                "ms": max(0, min(stage.ms, stated["most_ms"])),
                "rows": stage.rows,
            }
            for stage in search.stages
            if stage.skipped is None
        ],
    )
    keep_value(search.db.kept("searched"), search.search_id, noted, _MOST_NOTED)


def note_last(db: Database, name: str, role: str, report: Mapping[str, Json]) -> None:
    """Keep what a search did for last_search, to the end of the transaction.

    `name` is that of the parameter pgblend.last_search, which the transaction, or the savepoint,
    ends: so nobody finds it later.
    """
    db.session["pgblend_last_search"] = (name, role, json.dumps(report))


def last_facts(search: Search, found: Found) -> dict[str, Json]:
    """Return what last_search tells of a search."""
    return {
        "mode": search.plan.settings.mode,
        "meta": search_meta(search),
        "arm": search.plan.only_arm,
        "rows": len(found.rows),
        "candidates": found.candidate_count,
        "excluded": excluded_texts(search.request.query or ""),
        "degraded": search.degraded,
        "not_run": search.plan.not_run,
        "search_id": search.search_id,
        "ms": since(search.request.started_at),
    }


_MOST_RESULTS = 10
_OF_ROW = ("rank", "chunk_id", "document_id", "score")
_MOST_NOTES, _LONGEST_NOTE = 10, 300
# Of a search that was not made to find something, by what was traced.
_PURPOSES = {"page": "explain", "pool": "diagnose", "facets": "facets"}
_PURPOSE = (
    "SELECT left(coalesce(nullif(current_setting('pgblend.purpose', true), ''), $1), 40) AS purpose"
)


def search_report(search: Search, found: Found) -> str:
    """Return the report as JSON, short enough for a datagram.

    {"search_id", "profile", "mode", "rows", "degraded", "top_score", "results": [the first ten:
    {"rank", "chunk_id", "document_id", "score"}, in an experiment with "experiment" and
    "profiles"], "purpose", "trace"}. _report_search adds who searched, for what, where and when,
    which are not the caller's word. purpose is the parameter pgblend.purpose, which evaluations
    (evaluation) and the page (typed) set: the caller's word on the caller's own row. Else it is
    explain, diagnose, facets or search. Views leave out what is no search of a user.
    """
    rows = found.rows
    purpose = _PURPOSES.get(search.request.traced, "search")
    return json.dumps(
        {
            "search_id": search.search_id,
            "profile": search.state.profile,
            "mode": search.plan.settings.mode,
            "rows": len(rows),
            "ms": since(search.request.started_at),
            "degraded": [note[:_LONGEST_NOTE] for note in search.degraded[:_MOST_NOTES]],
            "top_score": rows[0].score if rows else None,
            "results": [
                {name: getattr(row, name) for name in _OF_ROW} | found.drafted.get(row.chunk_id, {})
                for row in rows[:_MOST_RESULTS]
            ],
            "purpose": search.db.run(_PURPOSE, ["text"], purpose)[0]["purpose"],
            "trace": search_fields(search, found),
        }
    )


def search_fields(search: Search, found: Found) -> dict[str, Json]:
    """Return what the log says of a search by S4's names, each where it is known.

    query_len (characters), top_k, strategy (dense, sparse, fuzzy or hybrid), strict, rrf_k and
    mmr_lambda where they are in force, files_touched (different documents), dedup_ratio (the share
    of what dedup looked at that it left out), time_to_first_result_ms. Where the words were
    searched: bm25_status (uninitialized, building, error, empty or ready), timeout_ms, attempts,
    bm25_results; by vectors: dense_results. fallback_used says that vectors stand in for words that
    found nothing or could not be searched, with bm25_len and dense_len then.
    """
    settings, stages = search.asked, search.ran()
    by_words, by_vectors = settings.weights["lexical"] > 0, settings.weights["vector"] > 0
    strategy = "hybrid" if by_words and by_vectors else "sparse" if by_words else "dense"
    if not (by_words or by_vectors):
        strategy = "fuzzy"
    words = rows_of(stages.get("lexical")) if by_words else None
    dense = stages["vector"].rows if "vector" in stages else None
    ranking, dedup_ratio = found.ranking, None
    if ranking is not None and ranking.looked_at and "dedup" in stages:
        dropped = ranking.looked_at - len(ranking.places["dedup"])
        dedup_ratio = dropped / ranking.looked_at
    lacked = search.tries.problem is not None and words == 0 and (dense or 0) > 0
    fallback_used = found.by_vector or lacked
    fields: dict[str, Json] = {
        "query_len": len(search.request.query or ""),
        "top_k": search.request.result_limit,
        "strategy": strategy,
        "strict": settings.strict,
        "rrf_k": settings.rrf_k if strategy == "hybrid" and settings.fusion == "rrf" else None,
        "mmr_lambda": settings.mmr["lambda"] if settings.mmr["lambda"] != 1 else None,
        "files_touched": len({row.document_id for row in found.rows}),
        "dedup_ratio": dedup_ratio,
        "time_to_first_result_ms": since(search.request.started_at),
        "dense_results": dense,
        "fallback_used": fallback_used,
        "bm25_len": words if fallback_used else None,
        "dense_len": dense if fallback_used else None,
    }
    if by_words:
        fields |= {
            "bm25_status": search.tries.status or index_status(search, words),
            "timeout_ms": settings.timeouts_ms["lexical"],
            "attempts": search.tries.attempts,
            "bm25_results": words,
        }
    return {name: value for name, value in fields.items() if value is not None}


def index_status(search: Search, words: int | None) -> str:
    """Return empty where there is nothing to search, else ready."""
    if words:
        return "ready"
    return "ready" if search.store.has_chunks(search.state.collection_ids) else "empty"
