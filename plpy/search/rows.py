"""The columns of a page's rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.search.lists import corrected_query
from pgblend.plpy.search.page import Page, copies_on_page
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.stages import Search
from pgblend.plpy.text.snippets import page_snippets

_NO_TEXT = {"content": "", "text_search_config": ""}


def page_columns(
    search: Search,
    gathered: Mapping[str, Any],
    pool: Pool,
    ranking: Ranking,
    page: Page,
    stored: StoredPassages,
) -> dict[str, Any]:
    """Return the columns of _rank_passages but trace, rows in the page's order."""
    chunk_ids = pool.chunk_ids(page.items)
    arms = ranking.arms_of(page.items, pool, search.settings["fused_scale"])
    texts = stored.texts(chunk_ids)
    shown = [texts.get(chunk_id, _NO_TEXT) for chunk_id in chunk_ids]
    snippets = page_snippets(
        search.db.run,
        [text["content"] for text in shown],
        [corrected_query(search.request.query, one) for one in arms],
        [text["text_search_config"] for text in shown],
    )
    return {
        "chunk_ids": chunk_ids,
        "ranks": list(range(page.start + 1, page.start + 1 + len(page.items))),
        "scores": [ranking.points[item] for item in page.items],
        "relevances": page.relevances,
        "snippets": snippets,
        "arms": json.dumps(arms),
        "details": json.dumps(page_details(search, gathered, pool, ranking, page, shown, stored)),
        "candidate_count": len(pool.fused["order"]),
        "degraded": search.degraded,
    }


def page_details(
    search: Search,
    gathered: Mapping[str, Any],
    pool: Pool,
    ranking: Ranking,
    page: Page,
    shown: Sequence[Mapping[str, Any]],
    stored: StoredPassages,
) -> list[dict[str, Any]]:
    """Return the details of each row; `shown` are the rows' texts."""
    fused, settings = pool.fused, search.settings
    copies: list[list[dict[str, Any]]] = [[] for _ in page.items]
    chunk_ids = pool.chunk_ids(page.items)
    if settings["dedup"] != "off":
        contents = {
            chunk_id: text["content"] for chunk_id, text in zip(chunk_ids, shown, strict=True)
        }
        copies = copies_on_page(page.items, fused, contents, stored.holders)
    of_all = details_of_all(settings, gathered, bool(ranking.reranker.scores))
    keys = pool.keys(page.items, ranking.points)
    return [
        {
            **of_all,
            **({"recency": fused["recency"][item]} if fused["recency"] else {}),
            **pool.place(chunk_id),
            "cursor": {
                "score": score,
                "document_id": document_id,
                "chunk_index": chunk_index,
                "depth": settings["candidate_depth"],
            },
            **({"copies": of_item} if of_item else {}),
        }
        for item, chunk_id, (score, document_id, chunk_index), of_item in zip(
            page.items, chunk_ids, keys, copies, strict=True
        )
    ]


def details_of_all(
    settings: Mapping[str, Any], gathered: Mapping[str, Any], is_reranked: bool
) -> dict[str, Any]:
    """Return what the details of every row say: how the search was made."""
    of_all = {"mode": settings["mode"]}
    if settings["search_id"]:
        of_all["search_id"] = settings["search_id"]
    if settings["not_run"]:
        of_all["not_run"] = settings["not_run"]
    if settings["stages"]["expand"] or "expand" in settings["not_run"]:
        of_all["expansion"] = gathered["expansion"]
    basis = "rerank" if is_reranked else None if gathered["vector"] is None else "cosine"
    return {**of_all, "relevance_basis": basis}
