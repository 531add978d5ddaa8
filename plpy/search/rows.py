"""The columns of a page's rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgblend.plpy.context.around import text_around
from pgblend.plpy.search.lists import corrected_query
from pgblend.plpy.search.page import Page, copies_on_page
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.stages import Search
from pgblend.plpy.text.snippets import page_snippets

_NO_TEXT: Mapping[str, Any] = {"content": "", "text_search_config": ""}
_OF_PASSAGE = (
    *("document_id", "collection", "uri", "title", "content", "start_line", "end_line", "pages"),
    *("metadata", "source_key"),
)
_AROUND = "SELECT pgblend._chunks_around($1, $2)::text AS chunks"


@dataclass(slots=True)
class Row:
    """A row of blend.search_result; JSON is text."""

    rank: int
    score: float
    relevance: float | None
    document_id: int
    chunk_id: int
    collection: str
    uri: str | None
    title: str | None
    snippet: str
    content: str
    start_line: int | None
    end_line: int | None
    pages: Sequence[int] | None
    metadata: str
    source_key: str
    context_before: str | None
    context_after: str | None
    arms: str
    degraded: Sequence[str]
    details: str


def page_rows(
    search: Search,
    gathered: Mapping[str, Any],
    pool: Pool,
    ranking: Ranking,
    page: Page,
    stored: StoredPassages,
) -> list[Row]:
    """Return the rows of a page; a passage that is not there, or is not to be seen, gives none."""
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
    details = page_details(search, gathered, pool, ranking, page, shown, stored)
    rows = [
        Row(
            rank=page.start + place,
            score=ranking.points[item],
            relevance=relevance,
            chunk_id=text["id"],
            snippet=snippet,
            context_before=None,
            context_after=None,
            arms=json.dumps(of_item),
            degraded=search.degraded,
            details=json.dumps(of_details),
            **{name: text[name] for name in _OF_PASSAGE},
        )
        for place, (item, relevance, text, snippet, of_item, of_details) in enumerate(
            zip(page.items, page.relevances, shown, snippets, arms, details, strict=True), 1
        )
        if text is not _NO_TEXT
    ]
    return with_text_around(search, rows)


def with_text_around(search: Search, rows: list[Row]) -> list[Row]:
    """Return the rows with as much text before and after each passage as context_chars says.

    With 0 a column stays None. Where a passage is the first or last of its document, the text is
    empty. All neighbours are read by one statement.
    """
    sizes = search.settings["context_chars"]
    before, after = int(sizes["before"]), int(sizes["after"])
    if not rows or not before + after:
        return rows
    values = [row.chunk_id for row in rows], json.dumps({"context_chars": sizes})
    found = json.loads(search.db.run(_AROUND, ["bigint[]", "jsonb"], *values)[0]["chunks"])
    chunks: dict[int, list[Mapping[str, Any]]] = {}
    index_of = {chunk["chunk_id"]: chunk["chunk_index"] for chunk in found}
    for chunk in found:
        chunks.setdefault(chunk["document_id"], []).append(chunk)
    for row in rows:
        around = text_around(chunks[row.document_id], index_of[row.chunk_id], before, after)
        row.context_before = around[0] if before > 0 else None
        row.context_after = around[1] if after > 0 else None
    return rows


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
