"""Where a page begins, and what its rows hold twice."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pgblend.plpy.fusion.pool import Fused
from pgblend.plpy.ports import Holder, Passage
from pgblend.plpy.refine.choose import Dropped
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.stages import Search
from pgblend.plpy.session import Json, UserError
from pgblend.plpy.settings.catalog import Cursor

_OF_DOCUMENT = ("document_id", "collection", "source_key", "uri", "title")


def page_start(order: Sequence[tuple[float, int, int]], after: Cursor | None) -> int | None:
    """Return the place, from 0, of the first row after the one that `after` names.

    `order` has (score, document id, chunk index) of all rows, best first; `after` the same three by
    name. No `after` gives 0. A row that is there is found by its document and chunk index, however
    its score may have changed; one that is not (deleted since) stands where its score would put it.
    Where rows are not in order of their scores, as after MMR, such a row has no place: None.
    """
    if not after:
        return 0
    key = (after["document_id"], after["chunk_index"])
    for place, (_, document_id, chunk_index) in enumerate(order):
        if (document_id, chunk_index) == key:
            return place + 1
    ranked = [(-score, document_id, chunk_index) for score, document_id, chunk_index in order]
    if ranked != sorted(ranked):
        return None
    return sum(row < (-after["score"], *key) for row in ranked)


class Page(NamedTuple):
    """Consecutive items of a ranking, the first at place `start` from 0, with relevances."""

    start: int
    items: Sequence[int]
    relevances: Sequence[float | None]


def start_of(
    search: Search, pool: Pool, items: Sequence[int], points: Sequence[float]
) -> int | None:
    """Return where the option after lets a page begin in items; 0 without it (page_start)."""
    after = search.settings.after
    return page_start(pool.keys(items, points), after) if after else 0


def cut_page(search: Search, pool: Pool, ranking: Ranking, stored: StoredPassages) -> Page:
    """Return the page that was asked for; warn where it reaches beyond the depth."""
    start = start_of(search, pool, ranking.best, ranking.points)
    if start is None:
        raise UserError(
            "the row of the option after is no longer found",
            "Begin again without after, or use offset.",
        )
    start += search.settings.offset
    end = page_end(search, start)
    return page_of(search, pool, ranking, stored, start, ranking.best[start:end])


def page_end(search: Search, start: int) -> int:
    """Return where a page ends that begins at a place; warn where that is beyond the depth."""
    settings, limit, depth = search.settings, search.request.result_limit, search.depth()
    if start + limit > depth:
        deciding = "over_fetch" if settings.over_fetch.get("factor") else "candidate_depth"
        is_cursor = "depth" in settings.after
        again = " and begin again without after" if is_cursor else ""
        search.db.warn(
            f"rows beyond {deciding} ({depth}) are not found: offset {start} + limit"
            f" {limit} asks for more",
            f"Raise the option {deciding}{again}.",
        )
    return min(start + limit, depth)


def page_of(
    search: Search,
    pool: Pool,
    ranking: Ranking,
    stored: StoredPassages,
    start: int,
    items: Sequence[int],
) -> Page:
    """Return a page of these items."""
    relevances = ranking.relevances(items, pool, stored)
    ranking.places["page"] = ranking.best
    search.done("page", len(items), {"relevance": ranking.told_scale()})
    return Page(start, items, relevances)


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
    others = [item for item in pool.order if item not in shown]
    if not wanted or not others:
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
    page: Sequence[int], pool: Fused, dropped: Dropped, texts: Mapping[int, Passage]
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
