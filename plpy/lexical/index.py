"""What a search reads of the lexical index."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pgblend.plpy.lexical.failures import report_damage
from pgblend.plpy.lexical.pending import Pending, PendingCache
from pgblend.plpy.lexical.rows import ChunkRows, Floats, Integers, Mask, Pair, find_rows, join_rows
from pgblend.plpy.lexical.segment import Segment, unpack_segment
from pgblend.plpy.ports import SimilarLexeme
from pgblend.plpy.session import Database


@dataclass(slots=True)
class Live:
    """Which rows of a view are alive, how many, and their total length.

    `tombstones` are the ids of chunks deleted since the last seal (big-endian int64).
    """

    tombstones: bytes | None
    alive: Mask
    n: int
    total_length: int


@dataclass(slots=True)
class Norms:
    """Norms of a view's rows, for a formula's constants and an average length.

    Beside them, `tf` has for each code the occurrences weighted by field.
    """

    key: tuple[float, float, tuple[float, ...]]
    live: Live
    average_length: float
    norms: Floats
    tf: Floats


@dataclass(slots=True)
class IndexView:
    """The arrays of segments, joined: row i of segment s is row offsets[s] + i.

    Segments lie by text search configuration, then id. `bounds` are (first row, after the last) of
    each, `directories` its (terms, where the postings of each start). `ranges` are the rows of each
    configuration; `frequencies` has for each code, of `code_type`, the occurrences in title,
    headings and body: the chunk's own, then those that repeat the chunk before.

    Segments never change but for deletions, so a session can keep views, and in them what it
    derived: see the functions that fill these.
    """

    segment_ids: list[int]
    offsets: Integers
    bounds: list[tuple[int, int]]
    ranges: dict[str, tuple[int, int]]
    code_offsets: Integers
    code_counts: Integers
    code_type: np.dtype[np.integer]
    code_bytes: list[int]
    directories: list[tuple[Integers, Integers]]
    rows: ChunkRows
    alive: Mask
    frequencies: Integers
    live: Live | None = None
    documents: tuple[Integers, Integers] | None = None
    postings: dict[int, Pair] = field(default_factory=dict)
    kept_postings: int = 0
    norms: Norms | None = None
    impacts: dict[int, Floats] = field(default_factory=dict)
    sums: Floats | None = None  # zeros to add scores up in
    sieve: Mask | None = None
    similar: tuple[Pending | None, dict[tuple[str, str, str], list[SimilarLexeme]]] | None = None


def view_rows(view: IndexView, chunk_ids: Integers) -> Integers:
    """Return the rows of the view that hold these chunks (sorted ids), ascending.

    Ids that the view does not have are left out. Each segment's ids are sorted, and most segments
    cover a range of their own: each is only asked for the ids within it.
    """
    parts: list[Integers] = [np.empty(0, np.intp)]
    for start, end in view.bounds:
        ids = view.rows.chunk_ids[start:end]
        first, last = np.searchsorted(chunk_ids, (ids[0], ids[-1] + 1))
        if first < last:
            parts.append(start + find_rows(ids, chunk_ids[first:last]))
    return np.concatenate(parts)


def field_counts(packed: Integers) -> Integers:
    """Return the six counts of packed frequencies: title, headings, body, and those repeated.

    They are six bytes of a number, the first the highest of 48 bits.
    """
    return packed[:, None] >> np.arange(40, -1, -8) & 255


def lexical_view(segments: Sequence[Segment]) -> IndexView:
    """Join the arrays of segments."""
    ordered = sorted(segments, key=lambda segment: (segment.config, segment.id))
    starts = np.cumsum([0, *(len(segment.rows) for segment in ordered)])
    code_starts = np.cumsum([0, *(len(segment.code_book) for segment in ordered)])
    code_type = np.min_scalar_type(code_starts[-1])
    bounds = list(pairwise(starts.tolist()))
    ranges: dict[str, tuple[int, int]] = {}
    for segment, (start, end) in zip(ordered, bounds, strict=True):
        ranges[segment.config] = (ranges.get(segment.config, (start, end))[0], end)
    alive = [np.empty(0, np.bool_), *(segment.alive for segment in ordered)]
    code_books = [np.empty(0, np.int64), *(segment.code_book for segment in ordered)]
    return IndexView(
        segment_ids=[segment.id for segment in ordered],
        offsets=starts[:-1],
        bounds=bounds,
        ranges=ranges,
        code_offsets=code_starts[:-1].astype(code_type),
        code_counts=np.diff(code_starts),
        code_type=code_type,
        code_bytes=[segment.code_bytes for segment in ordered],
        directories=[(segment.terms, segment.starts) for segment in ordered],
        rows=join_rows([segment.rows for segment in ordered]),
        alive=np.concatenate(alive),
        frequencies=field_counts(np.concatenate(code_books)),
    )


def live_rows(view: IndexView, tombstones: bytes | None) -> Live:
    """Return which rows are alive: neither among the tombstones nor hidden by dead lists.

    The view keeps the last result.
    """
    live = view.live
    if live is None or live.tombstones != tombstones:
        alive = view.alive
        if tombstones:
            alive = alive.copy()
            deleted = np.sort(np.frombuffer(tombstones, ">i8").astype(np.int64))
            alive[view_rows(view, deleted)] = False
        n, total_length = int(np.count_nonzero(alive)), int(view.rows.lengths[alive].sum())
        live = view.live = Live(tombstones, alive, n, total_length)
    return live


MOST_ROWS = 4_000_000
Version = tuple[tuple[int, str], ...]  # segments with what changes when their deletions do


@dataclass(slots=True)
class LexicalCache:
    """What a session keeps of the lexical index: a view for the same collections."""

    views: dict[tuple[int, ...], tuple[Version, IndexView]] = field(default_factory=dict)
    pending: PendingCache = field(default_factory=PendingCache)

    def kept_view(self, owner: tuple[int, ...], version: Version) -> IndexView | None:
        """Return the collections' view where it is of this version; else make room for another.

        All views go where they hold more than four million rows (37 bytes each).
        """
        kept = self.views.get(owner)
        if kept is not None and kept[0] == version:
            return kept[1]
        self.views.pop(owner, None)
        if sum(len(view.rows) for _, view in self.views.values()) > MOST_ROWS:
            self.views.clear()
        return None


def session_cache(db: Database) -> LexicalCache:
    """Return what the session keeps; nothing that another version of the program left."""
    kept = db.kept("lexical")
    cache = kept.get("cache")
    if not isinstance(cache, LexicalCache):
        cache = kept["cache"] = LexicalCache()
    return cache


@dataclass(slots=True)
class OpenIndex:
    """The index of some collections under one snapshot; `has_read`: something was not kept."""

    view: IndexView
    live: Live
    pending: Pending | None
    has_read: bool


# Ids and versions of segments; ids of deleted chunks (8 bytes each); pending chunks with the
# transactions that added them (12 bytes each). NULL for none.
_STATE = """
    SELECT s.segment_ids, s.versions, (
        SELECT string_agg(int8send(b.chunk_id), '')
        FROM pgblend_data.tombstone AS b WHERE b.collection_id = ANY($1)
    ) AS tombstones, (
        SELECT string_agg(int8send(c.chunk_id) || xidsend(c.xmin), '')
        FROM pgblend_data.pending AS c WHERE c.collection_id = ANY($1)
    ) AS pending
    FROM (
        SELECT
            coalesce(array_agg(g.id ORDER BY g.id), '{}') AS segment_ids,
            coalesce(array_agg(g.xmin || g.dead_digest ORDER BY g.id), '{}') AS versions
        FROM pgblend_data.segment AS g WHERE g.collection_id = ANY($1)
    ) AS s
"""
_SEGMENTS = "SELECT s.* FROM pgblend_data.segment AS s WHERE s.id = ANY($1) ORDER BY s.id"


def open_index(db: Database, collection_ids: Sequence[int]) -> OpenIndex:
    """Return the collections' index as the statement under way sees it.

    What is damaged ends in report_damage.
    """
    cache = session_cache(db)
    state = db.run(_STATE, ["bigint[]"], collection_ids)[0]
    owner = tuple(collection_ids)
    version = tuple(zip(state["segment_ids"], state["versions"], strict=True))
    view = cache.kept_view(owner, version)
    is_new = view is None and bool(version)
    if view is None:
        view = lexical_view(read_segments(db, state["segment_ids"]))
        cache.views[owner] = version, view
    pending, has_read = cache.pending.update(db, state["pending"])
    return OpenIndex(view, live_rows(view, state["tombstones"]), pending, is_new or has_read)


def read_segments(db: Database, ids: Sequence[int]) -> list[Segment]:
    """Return segments by id."""
    segments = []
    for row in db.run(_SEGMENTS, ["bigint[]"], ids) if ids else ():
        try:
            segments.append(unpack_segment(row))
        except ValueError as error:
            report_damage(db, "segment", row["id"], str(error))
    return segments
