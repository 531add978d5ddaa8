"""What a search reads of the lexical index."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.catalog import LEXICAL_CACHE_BYTES
from pgblend.plpy.base.ports import SimilarLexeme
from pgblend.plpy.base.session import Database, Row
from pgblend.plpy.base.unchanged import MANY, KeyList, Of, as_key, is_unchanged, run_unchanged
from pgblend.plpy.lexical.chunk_rows import ROW, Floats, Integers, Mask, Pair, find_rows
from pgblend.plpy.lexical.failures import report_damage
from pgblend.plpy.lexical.pending import Pending, PendingCache
from pgblend.plpy.lexical.segment import (
    SealedRows,
    Segment,
    apart,
    held_bytes,
    join_sealed,
    seal_rows,
    unpack_segment,
)


@dataclass(slots=True, eq=False, repr=False)
class Live:
    """Which rows of a view are alive, how many, and their total length.

    `tombstones` are the ids of chunks deleted since the last seal (big-endian int64).
    """

    tombstones: bytes | None
    alive: Mask
    n: int
    total_length: int


@dataclass(slots=True, eq=False, repr=False)
class Norms:
    """What norms of a view's rows are made of: a formula's constants and an average length.

    `tf` has for each code the occurrences weighted by field.
    """

    key: tuple[float, float, tuple[float, ...]]
    live: Live
    average_length: float
    lengths: Integers
    tf: Floats

    def of(self, rows: Integers) -> Floats:
        """Return k1 · (1 - b + b · length / average length), infinite where not alive.

        In single precision.
        """
        k1, b, _ = self.key
        norms = self.lengths[rows].astype(np.float32)
        norms *= np.float32(k1 * b / self.average_length)
        norms += np.float32(k1 * (1 - b))
        if self.live.n < len(self.lengths):
            norms[~self.live.alive[rows]] = np.inf
        return norms


@dataclass(slots=True, eq=False, repr=False)
class IndexView:
    """The arrays of segments, joined: row i of segment s is row offsets[s] + i.

    Segments lie by text search configuration, then id. `bounds` are (first row, after the last) of
    each, `directories` its (terms, where the postings of each start, and the last ends): all terms
    where they are few, else one in `every`. Then `pairs` tells which segments have a term, see
    may_have. `ranges` are the rows of each configuration; `frequencies` has for each code the
    occurrences in title, headings and body. They are the chunk's own, then those that repeat the
    chunk before. Code c of segment s is there codes[code_offsets[s] + c], so that codes of many
    segments take no more than those of one. `alive` takes no memory where all are.

    Segments never change but for deletions. So a session can keep views, and in them what it
    derived: see the functions that fill these.
    """

    segment_ids: list[int]
    offsets: Integers
    bounds: list[tuple[int, int]]
    ranges: dict[str, tuple[int, int]]
    code_offsets: Integers
    code_counts: Integers
    codes: Integers
    code_bytes: list[int]
    directories: list[Pair]
    every: int
    pairs: Integers
    rows: SealedRows
    alive: Mask
    total_length: int
    frequencies: Integers
    live: Live | None = None
    documents: tuple[Integers, Integers] | None = None
    postings: dict[int, Pair] = field(default_factory=dict)
    posting_bytes: int = 0
    spans: dict[int, Integers] = field(default_factory=dict)  # of terms, see view_spans
    norms: Norms | None = None
    impacts: dict[int, Floats] = field(default_factory=dict)
    sums: Floats | None = None  # zeros to add scores up in
    sieve: Mask | None = None
    similar: tuple[Pending | None, dict[tuple[str, str, str], list[SimilarLexeme]]] | None = None
    bare: tuple[Sequence[int], Pending | None, Set[int]] | None = None  # see bare_collections
    empty: Set[int] = frozenset()  # collections that were found to have no chunks

    def held_bytes(self) -> int:
        """Return how many bytes the arrays take, without postings."""
        derived = [*(self.documents or ()), self.sums, self.sieve, self.live and self.live.alive]
        return held_bytes(
            [
                *self.rows.arrays(),
                self.alive,
                self.codes,
                self.pairs,
                self.frequencies,
                *(array for directory in self.directories for array in directory),
                *self.spans.values(),
                *(array for array in derived if array is not None),
            ]
        )

    def forget_impacts(self, term: int) -> int:
        """Forget the impacts of a term; return how many bytes they took."""
        freed = self.impacts.pop(term).nbytes if term in self.impacts else 0
        self.posting_bytes -= freed
        return freed

    def forget_postings(self, term: int) -> int:
        """Forget the postings of a term without impacts; return how many bytes they took."""
        freed = term_bytes(self.postings.pop(term))
        self.posting_bytes -= freed
        return freed


TERM_BYTES = 500


def term_bytes(postings: Pair) -> int:
    """Return how many bytes a term's postings take, with the objects around."""
    rows, codes = postings
    return TERM_BYTES + rows.nbytes + codes.nbytes


def view_rows(view: IndexView, chunk_ids: Integers) -> Integers:
    """Return the rows of the view that hold these chunks (sorted ids), ascending.

    Ids that the view does not have are left out. Each segment's ids are sorted, and most segments
    cover a range of their own. Each is only asked for the ids within it.
    """
    parts: list[Integers] = [np.empty(0, np.intp)]
    ids = view.rows.chunk_ids
    firsts = chunk_ids.searchsorted(ids[view.offsets])
    ends = np.array([end for _, end in view.bounds], np.intp)
    lasts = chunk_ids.searchsorted(ids[ends - 1], "right")
    for segment in np.flatnonzero(firsts < lasts).tolist():
        start, end = view.bounds[segment]
        wanted = chunk_ids[firsts[segment] : lasts[segment]]
        parts.append(start + find_rows(ids.within(segment, start, end), wanted))
    return np.concatenate(parts)


def field_counts(packed: Integers) -> Integers:
    """Return the six counts of packed frequencies: title, headings, body, and those repeated.

    They are six bytes of a number, the first the highest of 48 bits.
    """
    return (packed[:, None] >> np.arange(40, -1, -8)).astype(np.uint8)


class KeptSegment(NamedTuple):
    """A segment without what is not kept of it."""

    config: str
    id: int
    rows: SealedRows
    dead: Integers
    code_book: Integers
    code_bytes: int
    directory: Pair


def lexical_view(segments: Iterable[Segment]) -> IndexView:
    """Join the arrays of segments, of which one at a time is held as it is stored."""
    parts: list[KeptSegment] = []
    every, terms, noted = 1, 0, np.empty(0, np.bool_)
    for segment in segments:
        terms += len(segment.terms)
        if every == 1 and terms > MOST_TERMS:
            every, noted = BLOCK_TERMS, np.zeros(PAIRS, np.bool_)
            for part in parts:
                note_pairs(noted, part.id, part.directory[0])
            parts = [part._replace(directory=thinned(*part.directory, every)) for part in parts]
        if every > 1:
            note_pairs(noted, segment.id, segment.terms)
        part = KeptSegment(
            segment.config,
            segment.id,
            apart(seal_rows(segment.rows)),
            np.flatnonzero(~segment.alive),
            segment.code_book,
            segment.code_bytes,
            thinned(segment.terms, segment.starts, every),
        )
        parts.append(part)
    parts.sort(key=lambda part: part[:2])
    starts = np.cumsum([0, *(len(part.rows) for part in parts)])
    code_starts = np.cumsum([0, *(len(part.code_book) for part in parts)])
    code_books = np.concatenate([np.empty(0, np.int64), *(part.code_book for part in parts)])
    code_book, codes = np.unique(code_books, return_inverse=True)
    bounds = list(pairwise(starts.tolist()))
    ranges: dict[str, tuple[int, int]] = {}
    for part, (start, end) in zip(parts, bounds, strict=True):
        ranges[part.config] = (ranges.get(part.config, (start, end))[0], end)
    dead = [part.dead + start for part, (start, _) in zip(parts, bounds, strict=True)]
    rows = join_sealed([part.rows for part in parts])
    return IndexView(
        segment_ids=[part.id for part in parts],
        offsets=starts[:-1].astype(ROW),
        bounds=bounds,
        ranges=ranges,
        code_offsets=code_starts[:-1],
        code_counts=np.diff(code_starts),
        codes=codes.astype(np.min_scalar_type(len(code_book))),
        code_bytes=[part.code_bytes for part in parts],
        directories=[part.directory for part in parts],
        every=every,
        pairs=np.packbits(noted, bitorder="little"),
        rows=rows,
        alive=without(np.broadcast_to(np.True_, len(rows)), dead),
        total_length=int(rows.lengths.sum(dtype=np.int64)),
        frequencies=field_counts(code_book),
    )


MOST_TERMS = 400_000  # in memory, of 12 bytes each
BLOCK_TERMS = 128


def thinned(terms: Integers, starts: Integers, every: int) -> Pair:
    """Return a directory's terms, or each 128th alone, and where their postings start."""
    if every == 1:
        return terms, starts
    return terms[::every].copy(), np.append(starts[:-1:every], starts[-1])


PAIRS = 1 << 24  # bits, two for each pair: of two million pairs they tell one in twenty wrong


def pair_places(segment_ids: Integers | int, terms: Integers) -> list[Integers]:
    """Return the bits for pairs of a segment and a term; other pairs may have the same."""
    salts = (segment_ids & PAIRS - 1) * 0x9E3779B1
    return [(terms ^ salts) & PAIRS - 1, (terms >> 32 ^ salts) & PAIRS - 1]


def note_pairs(noted: Mask, segment_id: int, terms: Integers) -> None:
    """Set the bits of a segment's terms."""
    for places in pair_places(segment_id, terms):
        noted[places] = True


def may_have(view: IndexView, terms: Integers) -> Mask:
    """Tell of each segment of a thinned view which of the terms it may have, all it has among them.

    Most of a query's words, and of other ways to spell them, few of many segments have.
    """
    first, second = (
        view.pairs[places >> 3] >> (places & 7) & 1
        for places in pair_places(np.array(view.segment_ids)[:, None], terms)
    )
    has: Mask = (first & second).astype(np.bool_)
    return has


def without(alive: Mask, dead: Sequence[Integers]) -> Mask:
    """Return a mask without some rows; itself where they are none."""
    if not any(map(len, dead)):
        return alive
    alive = alive.copy()
    alive[np.concatenate(dead)] = False
    return alive


def live_rows(view: IndexView, tombstones: bytes | None) -> Live:
    """Return which rows are alive: neither among the tombstones nor hidden by dead lists.

    The view keeps the last result.
    """
    live = view.live
    if live is None or live.tombstones != tombstones:
        deleted = np.sort(np.frombuffer(tombstones or b"", ">i8").astype(np.int64))
        alive = without(view.alive, [view_rows(view, deleted)])
        dead = np.flatnonzero(~alive)
        total_length = view.total_length - int(view.rows.lengths[dead].sum(dtype=np.int64))
        live = view.live = Live(tombstones, alive, len(alive) - len(dead), total_length)
    return live


Version = tuple[list[int], list[str]]  # segments, and what changes when their deletions do


@dataclass(slots=True, eq=False, repr=False)
class LexicalCache:
    """What a session keeps of the lexical index: a view for the same collections.

    `most_bytes` is the setting limits.lexical_cache_bytes, which all views share for postings.
    """

    most_bytes: int
    views: dict[KeyList, tuple[Version, IndexView]] = field(default_factory=dict)
    pending: PendingCache = field(default_factory=PendingCache)

    def kept_view(self, owner: KeyList, version: Version) -> IndexView | None:
        """Return the collections' view where it is of this version; else make room for another.

        All others go where their arrays take more than the postings may.
        """
        kept = self.views.get(owner)
        if kept is not None and kept[0] == version:
            return kept[1]
        self.views.pop(owner, None)
        if sum(view.held_bytes() for _, view in self.views.values()) > self.most_bytes:
            self.views.clear()
        return None

    def make_room(self, view: IndexView, needed: int, terms: Sequence[int]) -> None:
        """Forget until `needed` bytes fit: other views' postings, then those asked for long ago.

        Impacts go first: they are reckoned again, where postings are read from each segment. Those
        of `terms`, which a search is about to use, stay in any case.
        """
        left = self.most_bytes - needed - sum(v.posting_bytes for _, v in self.views.values())
        for _, other in self.views.values():
            if left < 0 and other is not view:
                left += other.posting_bytes
                other.postings.clear()
                other.impacts.clear()
                other.posting_bytes = 0
        others = [term for term in view.postings if term not in terms] if left < 0 else ()
        for forget, term in product((view.forget_impacts, view.forget_postings), others):
            if left >= 0:
                break
            left += forget(term)
        view.posting_bytes += needed


def session_cache(db: Database) -> LexicalCache:
    """Return what the session keeps; nothing that another version of the program left."""
    kept = db.kept("lexical")
    cache = kept.get("cache")
    if not isinstance(cache, LexicalCache):
        cache = kept["cache"] = LexicalCache(LEXICAL_CACHE_BYTES)
    return cache


@dataclass(slots=True, eq=False, repr=False)
class OpenIndex:
    """The index of some collections under one snapshot; `has_read`: something was not kept.

    `bare` are the collections that have neither segments nor pending chunks.
    """

    view: IndexView
    live: Live
    pending: Pending | None
    has_read: bool
    bare: Set[int]


# Ids, versions and collections of segments; ids of deleted chunks (8 bytes each); pending chunks
# with the transactions that added them (12 bytes each). NULL stands for none.
_STATE: dict[Of, str] = {
    "segment": """
        SELECT
            coalesce(array_agg(g.id ORDER BY g.id), '{}') AS segment_ids,
            coalesce(array_agg(g.xmin || g.dead_digest ORDER BY g.id), '{}') AS versions,
            coalesce(array_agg(g.collection_id), '{}') AS collection_ids
        FROM pgblend_data.segment AS g WHERE g.collection_id = ANY($1)
    """,
    "tombstone": """
        SELECT string_agg(int8send(b.chunk_id), '') AS tombstones
        FROM pgblend_data.tombstone AS b WHERE b.collection_id = ANY($1)
    """,
    "pending": """
        SELECT string_agg(int8send(c.chunk_id) || xidsend(c.xmin), '') AS pending
        FROM pgblend_data.pending AS c WHERE c.collection_id = ANY($1)
    """,
}
_WHOLE_STATE = """
    SELECT s.*, ({tombstone}) AS tombstones, ({pending}) AS pending FROM ({segment}) AS s
""".format(**_STATE)
_SEGMENTS = "SELECT s.* FROM pgblend_data.segment AS s WHERE s.id = ANY($1)"
# Small ones come together: a statement for each of many takes as long as what it reads.
_TOGETHER = """
    SELECT array_agg(p.id) AS ids FROM (
        SELECT s.id, (sum(s.bytes) OVER (ORDER BY s.id))::bigint / 1000000 AS part
        FROM pgblend_data.segment AS s WHERE s.id = ANY($1)) AS p GROUP BY p.part ORDER BY p.part
"""


def open_index(
    db: Database, collection_ids: Sequence[int], most_bytes: int = LEXICAL_CACHE_BYTES
) -> OpenIndex:
    """Return the collections' index as the statement under way sees it.

    What is damaged ends in report_damage.
    """
    cache = session_cache(db)
    cache.most_bytes = most_bytes
    state = read_state(db, collection_ids)
    owner = as_key(collection_ids)
    version = state["segment_ids"], state["versions"]
    view = cache.kept_view(owner, version)
    is_new = view is None and bool(state["segment_ids"])
    if view is None:
        view = lexical_view(read_segments(db, state["segment_ids"]))
        cache.views[owner] = version, view
    pending, has_read = cache.pending.update(db, state["pending"])
    live = live_rows(view, state["tombstones"])
    bare = bare_collections(view, collection_ids, state["collection_ids"], pending)
    return OpenIndex(view, live, pending, is_new or has_read, bare)


def bare_collections(
    view: IndexView, collection_ids: Sequence[int], sealed: Sequence[int], pending: Pending | None
) -> Set[int]:
    """Return the collections without segments and pending chunks; the view keeps the last ones."""
    if view.bare is None or view.bare[0] is not sealed or view.bare[1] is not pending:
        waiting = () if pending is None else pending.collection_ids
        view.bare = sealed, pending, set(collection_ids).difference(sealed, waiting)
    return view.bare[2]


def read_state(db: Database, collection_ids: Sequence[int]) -> Row:
    """Return what is stored of the collections' index now: of many, what changed is read anew."""
    if not is_unchanged(db):
        return db.run(_WHOLE_STATE, ["bigint[]"], collection_ids)[0]
    found = (
        run_unchanged(db, statement, ["bigint[]"], collection_ids, of=table)[0]
        for table, statement in _STATE.items()
    )
    return {name: value for row in found for name, value in row.items()}


def read_segments(db: Database, ids: Sequence[int]) -> Iterator[Segment]:
    """Read segments, a megabyte or one at a time; PB002 for a damaged one."""
    parts = [[segment_id] for segment_id in ids]
    if len(ids) > MANY:
        parts = [row["ids"] for row in db.run(_TOGETHER, ["bigint[]"], ids)]
    for part in parts:
        for row in db.run(_SEGMENTS, ["bigint[]"], part):
            try:
                yield unpack_segment(row)
            except ValueError as error:
                report_damage(db, "segment", row["id"], str(error))
