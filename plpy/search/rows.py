"""A page's rows: what was found, column by column."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

from pgblend.plpy.base.ports import Passage
from pgblend.plpy.base.session import Json
from pgblend.plpy.base.session import Row as ChunkRow
from pgblend.plpy.lexical.query import excluded_texts
from pgblend.plpy.search.lists import Gathered
from pgblend.plpy.search.page import Page, copies_on_page, near_copies
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.stages import Search
from pgblend.plpy.search.store import Highlights, shown_snippets

_FIRST = 10
_CURSOR = ("score", "document_id", "chunk_index", "depth")
_as_json = json.JSONEncoder(check_circular=False).encode


class Row(NamedTuple):
    """A row of blend.search_result, its columns in their order; JSON is text."""

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


def page_rows(search: Search, ranked: "Ranked", page: Page) -> list[Row]:
    """Return the rows of a page; a passage that is not there, or is not to be seen, gives none."""
    gathered, stored, pool, ranking, _, highlights = ranked
    chunk_ids = pool.fused.ids(page.items)
    arms = ranking.arms_of(page.items, pool, search.settings.fused_scale)
    texts = stored.texts(chunk_ids)
    shown = [texts.get(chunk_id) for chunk_id in chunk_ids]
    there = [text for text in shown if text is not None]
    snippets = shown_snippets(search.db, search.store, highlights, there)
    details = page_details(search, gathered, pool, ranking, page, shown, stored)
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
            snippet=snippets[text.chunk_id],
            content=text.content,
            start_line=text.start_line,
            end_line=text.end_line,
            pages=text.pages,
            metadata=text.metadata,
            source_key=text.source_key,
            context_before=None,
            context_after=None,
            arms=_as_json(of_item),
            degraded=search.degraded,
            details=_as_json(of_details),
        )
        for place, (item, relevance, text, of_item, of_details) in enumerate(
            zip(page.items, page.relevances, shown, arms, details, strict=True), 1
        )
        if text is not None
    ]
    return with_text_around(search, rows)


def with_text_around(search: Search, rows: list[Row]) -> list[Row]:
    """Return the rows with as much text before and after each passage as context_chars says.

    With 0 a column stays None. Where a passage is the first or last of its document, the text is
    empty. All neighbours are read by one statement.
    """
    sizes = search.settings.context_chars
    before, after = int(sizes["before"]), int(sizes["after"])
    if not rows or not before + after:
        return rows
    from pgblend.plpy.answers.assemble import text_around  # of few searches

    found = search.store.around([row.chunk_id for row in rows], sizes)
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
    search: Search,
    gathered: Gathered,
    pool: Pool,
    ranking: Ranking,
    page: Page,
    shown: Sequence[Passage | None],
    stored: StoredPassages,
) -> list[dict[str, Json]]:
    """Return the details of each row; `shown` are the rows' texts."""
    fused, settings = pool.fused, search.settings
    copies: list[list[dict[str, Json]]] = [[] for _ in page.items]
    chunk_ids = fused.ids(page.items)
    if settings.dedup != "off":
        contents = {text.chunk_id: text.content for text in shown if text and text.may_repeat}
        copies = copies_on_page(page.items, fused, contents, stored.holders)
    if settings.dedup == "near" and ranking.dropped:
        near = near_copies(page.items, fused, ranking.dropped, stored.known_texts)
        copies = [exact + others for exact, others in zip(copies, near, strict=True)]
    of_all = details_of_all(search, gathered, ranking.basis)
    keys = pool.keys(page.items, ranking.points)
    changes = pool.ruled.changes if pool.ruled else {}
    answers = [answered(item, pool) for item in page.items]
    return [
        {
            **of_all,
            **({"recency": fused.recency[item]} if fused.recency else {}),
            **({"language": fused.language[item]} if fused.language else {}),
            **(pool.places.of(chunk_id) if pool.places else {}),
            **({"rules": changes[item]} if item in changes else {}),
            **({"answers": questions} if questions else {}),
            "cursor": dict(zip(_CURSOR, (*key, settings.candidate_depth), strict=True)),
            **({"copies": of_item} if of_item else {}),
        }
        for item, chunk_id, key, of_item, questions in zip(
            page.items, chunk_ids, keys, copies, answers, strict=True
        )
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


def details_of_all(search: Search, gathered: Gathered, basis: str | None) -> dict[str, Json]:
    """Return what the details of every row say: how the search was made."""
    plan = search.plan
    of_all: dict[str, Json] = {"mode": plan.settings.mode}
    if excluded := excluded_texts(search.request.query or ""):
        of_all["excluded"] = excluded
    if search.search_id:
        of_all["search_id"] = search.search_id
    if plan.not_run:
        of_all["not_run"] = plan.not_run
    if plan.expands or "expand" in plan.not_run:
        of_all["expansion"] = gathered.expansion
    return {**of_all, "relevance_basis": basis}


# What a search found.


class Ranked(NamedTuple):
    """All candidates of a search in their order, and what they were made of.

    `found` is how many the arms and the graph found; rules pin others and hide some. `highlights`
    is what their snippets mark.
    """

    gathered: Gathered
    stored: StoredPassages
    pool: Pool
    ranking: Ranking
    found: int
    highlights: Highlights


@dataclass(eq=False, repr=False)
class Found:
    """The rows of a page, and how they came to be; without a query nothing was looked for.

    `candidate_count` is None where the words were out of time; `by_vector`: vectors stand in for
    words that are nowhere. Of an `experiment` {id, profile, rival}, `sides` are the searches by
    both profiles and what each found, and `drafted` is what details say of chunk ids.
    """

    pool: Pool
    page: Page
    ranking: Ranking | None
    stored: StoredPassages
    rows: list[Row] = field(default_factory=list)
    candidate_count: int | None = 0
    by_vector: bool = False
    experiment: Mapping[str, Json] = field(default_factory=dict)
    sides: "Sequence[tuple[Search, Found]]" = ()
    drafted: Mapping[int, dict[str, Json]] = field(default_factory=dict)


class Answer(TypedDict):
    """The columns of _run_search; trace and report are JSON."""

    results: list[Row]
    trace: str | None
    report: str | None
