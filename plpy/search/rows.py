"""A page's rows: what was found, column by column, and what repeats it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from pgblend.plpy.base.ports import Holder, Passage
from pgblend.plpy.base.session import Json
from pgblend.plpy.base.session import Row as ChunkRow
from pgblend.plpy.lexical.query import excluded_texts
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.pool import Pool, Row
from pgblend.plpy.search.query import Log, Query
from pgblend.plpy.search.store import StorePort, shown_snippets

_FIRST = 10
_CURSOR = '"cursor": {{"score": {!r}, "document_id": {}, "chunk_index": {}, "depth": {}}}'
_as_json = json.JSONEncoder(check_circular=False).encode
_SEAM = "\0"  # no text of the server has a zero
_BETWEEN = f", {_as_json(_SEAM)}, "


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
        arms = each_as_json(ranking.arms_of(page.items, pool, query.settings.fused_scale))
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


def each_as_json(values: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return each value as JSON: all by one call, of which each takes longer than a value."""
    parted = [part for value in values for part in (value, _SEAM)][:-1]
    return _as_json(parted)[1:-1].split(_BETWEEN) if parted else []


def wanted_columns(query: Query, rows: Sequence[Row]) -> list[Row]:
    """Return rows without the columns that the call does without, which are None."""
    spared = query.spared
    if not spared or not rows:
        return [*rows]
    columns = zip(Row._fields, zip(*rows, strict=True), strict=True)
    nothing = [None] * len(rows)
    kept = [nothing if name in spared else column for name, column in columns]
    return [Row._make(row) for row in zip(*kept, strict=True)]


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


_OF_DOCUMENT = ("document_id", "collection", "source_key", "uri", "title")


def copies_on_page(
    page: Sequence[int],
    pool: Fused,
    content_of: Mapping[int, str],
    holders: Callable[[Sequence[int], Sequence[str]], Sequence[Holder]],
) -> list[list[dict[str, Json]]]:
    """Return for each item of a page the other documents whose candidate has the same text.

    In the candidates' order, each document once: {document_id, collection, source_key, uri, title}.
    `content_of` has the texts of the page's chunks that may have copies. `holders` gives those of
    chunk ids that have one of some contents. A blank text has no copies: such passages differ by
    their titles.
    """
    ids = pool.chunk_ids
    contents = [content_of.get(ids[item], "") for item in page]
    wanted = sorted({content for content in contents if content.strip()})
    shown = set(page)
    others = [item for item in pool.order if item not in shown] if wanted else []
    if not others:
        return [[] for _ in page]
    place_of = {ids[item]: place for place, item in enumerate(others)}
    by_content: dict[str, dict[int, Holder]] = {content: {} for content in wanted}
    for row in sorted(holders(list(place_of), wanted), key=lambda row: place_of[row.chunk_id]):
        by_content[row.content].setdefault(row.document_id, row)
    return [
        [
            {name: getattr(holder, name) for name in _OF_DOCUMENT}
            for document_id, holder in by_content.get(content, {}).items()
            if document_id != pool.document_ids[item]
        ]
        for item, content in zip(page, contents, strict=True)
    ]


def near_copies(
    page: Sequence[int],
    pool: Fused,
    dropped: Mapping[int, Mapping[str, Json]],
    texts: Mapping[int, Passage],
) -> list[list[dict[str, Json]]]:
    """Return for each item of a page the other documents left out as nearly the same text.

    As copies_on_page names them, with the `likeness` of the texts (the setting dedup_similarity).
    """
    left_out: dict[Json, dict[int, dict[str, Json]]] = {}  # by the chunk that was kept
    for item, why in dropped.items():
        passage = texts.get(pool.chunk_ids[item])
        if why["reason"] == "similar" and passage is not None:
            document = {name: getattr(passage, name) for name in _OF_DOCUMENT}
            of_kept = left_out.setdefault(why["duplicate_of"], {})
            of_kept.setdefault(passage.document_id, {**document, "likeness": why["likeness"]})
    return [
        [
            document
            for document_id, document in left_out.get(pool.chunk_ids[item], {}).items()
            if document_id != pool.document_ids[item]
        ]
        for item in page
    ]
