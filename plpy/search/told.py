"""What a search tells of itself to those who ask."""

import json
from collections.abc import Mapping
from time import monotonic, time

from pgblend.plpy.base.session import Database, Json, keep_value
from pgblend.plpy.base.stages import Stage
from pgblend.plpy.lexical.query import excluded_texts
from pgblend.plpy.search.rows import Found, Row
from pgblend.plpy.search.stages import Search

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
    from pgblend.plpy.search.report import Noted  # where a log is kept

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
