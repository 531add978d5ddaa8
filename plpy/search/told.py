"""What a search tells of itself to those who ask."""

import json
from time import monotonic, time
from typing import Any

from pgblend.plpy.search.page import Page
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.stages import Search
from pgblend.plpy.search.trace import search_trace
from pgblend.plpy.session import keep_value

_MOST_NOTED = 50
_RAN = (
    "SELECT pgblend._asking_role()::text AS role, ARRAY(SELECT left(c.name, 100)"
    " FROM pgblend_data.collection AS c WHERE c.id = ANY($1) ORDER BY c.name LIMIT 50) AS names,"
    " pgblend._milliseconds(statement_timestamp(), clock_timestamp()) AS most_ms"
)


def told_trace(
    search: Search, pool: Pool, ranking: Ranking, page: Page, stored: StoredPassages
) -> str | None:
    """Return the trace as JSON; None where nobody asks for one.

    `traced` rerank tells what a reranker reads, page how each row came to its place, pool how each
    candidate did; the log asks for the stages alone.
    """
    traced, settings, reranker = search.request.traced, search.settings, ranking.reranker
    if traced == "rerank":
        targets = reranker.targets or []
        passages = zip(pool.chunk_ids(targets), reranker.passages(targets), strict=True)
        return json.dumps(
            {"passages": [{"chunk_id": one, "passage": passage} for one, passage in passages]}
        )
    if traced == "none" and not settings["search_id"]:
        return None
    if settings["search_id"]:
        note_search(search)
    end_ms = (time() - search.request.started_at) * 1000
    trace: dict[str, Any] = {"stages": search.stages, "end_ms": end_ms}
    if traced in ("page", "pool"):
        trace |= search_trace(
            page.items,
            pool.lists,
            pool.fused,
            (ranking.points, reranker.addends),
            settings["rrf_k"],
            ranking.places,
            lambda items: ranking.arms_of(items, pool, settings["fused_scale"]),
            (stored.known_cosines, ranking.dropped) if traced == "pool" else None,
        )
    return json.dumps(trace)


def note_search(search: Search) -> None:
    """Keep for the log what was searched (_send_report): nobody can write here by SQL."""
    ended = monotonic()
    ran = search.db.run(_RAN, ["bigint[]"], search.request.collection_ids)[0]
    stages = [  # warm_up depends on started_at, which is the caller's word
        {
            "name": stage["name"],
            "ms": max(0, min(stage["ms"], ran["most_ms"])),
            "rows": stage.get("rows"),
        }
        for stage in search.stages
        if "skipped" not in stage
    ]
    noted = {
        "role": ran["role"],
        "query": search.request.query,
        "collections": ran["names"],
        "ended": ended,
        "ms": (ended - search.began) * 1000,
        "stages": stages,
    }
    keep_value(search.db.kept("searched"), search.settings["search_id"], noted, _MOST_NOTED)
