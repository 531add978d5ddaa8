"""What a search gives: a page's rows, column by column, and what it tells of itself."""

import json
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TypedDict

from pgblend.plpy.base.ports import Passage
from pgblend.plpy.base.session import Database, Json, keep_value
from pgblend.plpy.base.session import Row as ChunkRow
from pgblend.plpy.base.stages import rows_of, since
from pgblend.plpy.lexical.query import excluded_texts
from pgblend.plpy.search.page import copies_on_page, near_copies
from pgblend.plpy.search.pool import Pool, Row
from pgblend.plpy.search.query import Log, Query
from pgblend.plpy.search.rerank import read_texts
from pgblend.plpy.search.store import StorePort, shown_snippets

_FIRST = 10
_CURSOR = '"cursor": {{"score": {!r}, "document_id": {}, "chunk_index": {}, "depth": {}}}'
_as_json = json.JSONEncoder(check_circular=False).encode


def fetch_rows(query: Query, pool: Pool, store: StorePort, log: Log) -> Pool:
    """Read the rows of the page."""
    rows = page_rows(query, pool, store, log)
    log.done("fetch", len(rows))
    return pool._replace(rows=rows, found=pool.found if log.had_time else None)


def page_rows(query: Query, pool: Pool, store: StorePort, log: Log) -> list[Row]:
    """Return the rows of a page; a passage that is not there, or is not to be seen, gives none.

    Of columns that the call does without, those that take time are not made.
    """
    page, ranking, spared = pool.page, pool.ranking, query.spared
    chunk_ids = pool.fused.ids(page.items)
    texts = pool.stored.texts(chunk_ids)
    shown = [texts.get(chunk_id) for chunk_id in chunk_ids]
    there = [text for text in shown if text is not None]
    arms = details = [""] * len(page.items)
    snippets: Mapping[int, str] = {}
    if "snippet" not in spared and pool.highlights:
        snippets = shown_snippets(log.db, pool.highlights, there)
    if "arms" not in spared:
        arms = [*map(_as_json, ranking.arms_of(page.items, pool, query.settings.fused_scale))]
    if "details" not in spared:
        details = page_details(query, pool, shown, store.spaces(chunk_ids))
    rows = [
        Row(
            rank=page.start + place,
            score=ranking.points[item],
            relevance=relevance,
            document_id=text.document_id,
            chunk_id=text.chunk_id,
            collection=text.collection,
            uri=text.uri,
            title=text.title,
            snippet=snippets.get(text.chunk_id, ""),
            content=text.content,
            start_line=text.start_line,
            end_line=text.end_line,
            pages=text.pages,
            metadata=text.metadata,
            source_key=text.source_key,
            context_before=None,
            context_after=None,
            arms=of_item,
            degraded=log.degraded,
            details=of_details,
        )
        for place, (item, relevance, text, of_item, of_details) in enumerate(
            zip(page.items, page.relevances, shown, arms, details, strict=True), 1
        )
        if text is not None
    ]
    if {"context_before", "context_after"}.issubset(spared):
        return rows
    return with_text_around(query, store, rows)


def wanted_columns(query: Query, rows: Sequence[Row]) -> list[Row]:
    """Return rows without the columns that the call does without, which are None."""
    spared = query.spared
    if not spared:
        return [*rows]
    is_kept = [name not in spared for name in Row._fields]
    return [
        Row._make(value if kept else None for value, kept in zip(row, is_kept, strict=True))
        for row in rows
    ]


def with_text_around(query: Query, store: StorePort, rows: list[Row]) -> list[Row]:
    """Return the rows with as much text before and after each passage as context_chars says.

    With 0 a column stays None. Where a passage is the first or last of its document, the text is
    empty. All neighbours are read by one statement.
    """
    sizes = query.settings.context_chars
    before, after = int(sizes["before"]), int(sizes["after"])
    if not rows or not before + after:
        return rows
    from pgblend.plpy.answers.assemble import text_around  # of few searches

    found = store.around([row.chunk_id for row in rows], sizes)
    chunks: dict[int, list[ChunkRow]] = {}
    index_of = {chunk["chunk_id"]: chunk["chunk_index"] for chunk in found}
    for chunk in found:
        chunks.setdefault(chunk["document_id"], []).append(chunk)
    arounds = (
        text_around(chunks[row.document_id], index_of[row.chunk_id], before, after) for row in rows
    )
    return [
        row._replace(
            context_before=around[0] if before > 0 else None,
            context_after=around[1] if after > 0 else None,
        )
        for row, around in zip(rows, arounds, strict=True)
    ]


def page_details(
    query: Query, pool: Pool, shown: Sequence[Passage | None], spaces: Mapping[int, str]
) -> list[str]:
    """Return the details of each row as JSON; `shown` are the rows' texts."""
    page, ranking, stored = pool.page, pool.ranking, pool.stored
    fused, settings = pool.fused, query.settings
    copies: list[list[dict[str, Json]]] = [[] for _ in page.items]
    chunk_ids = fused.ids(page.items)
    if settings.dedup != "off":
        contents = {text.chunk_id: text.content for text in shown if text and text.may_repeat}
        copies = copies_on_page(page.items, fused, contents, stored.holders)
    if settings.dedup == "near" and ranking.dropped:
        near = near_copies(page.items, fused, ranking.dropped, stored.known_texts)
        copies = [exact + others for exact, others in zip(copies, near, strict=True)]
    of_all = _as_json(details_of_all(query, pool))[:-1]  # what all have is written once
    keys = pool.keys(page.items, ranking.points)
    changes = pool.ruled.changes if pool.ruled else {}
    has_questions = any(one.question for one in pool.lists)
    has_factors = fused.recency or fused.language or pool.places
    own: list[dict[str, Json]] = [{}] * len(chunk_ids)
    if has_factors or changes or has_questions or spaces or any(copies):  # most have nothing
        own = [
            {
                **({"recency": fused.recency[item]} if fused.recency else {}),
                **({"language": fused.language[item]} if fused.language else {}),
                **(pool.places.of(chunk_id) if pool.places else {}),
                **({"rules": changes[item]} if item in changes else {}),
                **({"answers": found} if has_questions and (found := answered(item, pool)) else {}),
                **({"copies": of_item} if of_item else {}),
                **({"space": spaces[chunk_id]} if chunk_id in spaces else {}),
            }
            for item, chunk_id, of_item in zip(page.items, chunk_ids, copies, strict=True)
        ]
    depth = settings.candidate_depth
    # a float of numpy has a name before its number
    cursors = (_CURSOR.format(float(score), *place, depth) for score, *place in keys)
    return [
        f"{of_all}, {cursor}{f', {_as_json(more)[1:]}' if more else '}'}"
        for cursor, more in zip(cursors, own, strict=True)
    ]


def answered(item: int, pool: Pool) -> list[str]:
    """Return the sub-questions that an item answers, the best first.

    A list of theirs has it among the first ten, and nearer to the best score than to the least.
    """
    found = sorted(
        (rank, of_list.question)
        for of_list, ranks in zip(pool.lists, pool.fused.ranks, strict=True)
        if of_list.question and (rank := ranks[item]) is not None and rank <= _FIRST
        if is_near_best(of_list.found.scores, rank)
    )
    return list(dict.fromkeys(text for _, text in found))


def is_near_best(scores: Sequence[float], rank: int) -> bool:
    """Tell whether the score of a rank, from 1, is in the upper half of a list's range."""
    return 2 * scores[rank - 1] >= scores[0] + scores[-1]


def details_of_all(query: Query, pool: Pool) -> dict[str, Json]:
    """Return what the details of every row say: how the search was made."""
    plan = query.plan
    of_all: dict[str, Json] = {"mode": plan.settings.mode}
    if excluded := excluded_texts(query.text):
        of_all["excluded"] = excluded
    if query.search_id:
        of_all["search_id"] = query.search_id
    if plan.not_run:
        of_all["not_run"] = plan.not_run
    if plan.expands or "expand" in plan.not_run:
        of_all["expansion"] = pool.expansion
    return {**of_all, "relevance_basis": pool.ranking.basis}


class Answer(TypedDict):
    """The columns of _run_search; trace and report are JSON."""

    results: list[Row]
    trace: str | None
    report: str | None


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
    """Keep what a search did for last_search, to the end of the transaction.

    `name` is that of the parameter pgblend.last_search, which the transaction, or the savepoint,
    ends: so nobody finds it later.
    """
    db.session["pgblend_last_search"] = (name, role, json.dumps(report))


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
