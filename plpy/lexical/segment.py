"""Sealed segments: read, merged and written."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from mmap import mmap

import numpy as np

from pgblend.plpy.base.session import Database, Row
from pgblend.plpy.lexical.chunk_rows import (
    COLUMN_TYPES,
    ChunkRows,
    Integers,
    Mask,
    join_rows,
    stored_rows,
)

_SIGNED = (*COLUMN_TYPES, "code_book", "terms", "document_frequencies")


def sign_segment(
    db: Database, collection_id: int, config: str, arrays: Sequence[bytes], blocks: Sequence[bytes]
) -> bytes:
    """Return the signature of what a segment of this database has, but for its dead rows.

    The arrays are in the order of the table's columns. The secret is the owner's alone.
    """
    (row,) = db.run("SELECT secret FROM pgblend_data.index_secret", [])
    signature = hmac.new(row["secret"], digestmod="sha256")
    for part in (b"%d" % collection_id, config.encode(), *arrays, *blocks):
        signature.update(b"%d " % len(part))
        signature.update(part)
    return signature.digest()


def check_signature(db: Database, collection_id: int, saved: Row, blocks: Sequence[bytes]) -> None:
    """Raise a ValueError where this database did not write a saved segment of a collection."""
    arrays = [saved[name] or b"" for name in _SIGNED]
    signature = sign_segment(db, collection_id, saved["text_search_config"] or "", arrays, blocks)
    if not hmac.compare_digest(signature, saved["signature"] or b""):
        raise ValueError("it is not as this database wrote it")


# The rows of sealed segments as a session keeps them: in the fewest bytes.


@dataclass(slots=True, eq=False, repr=False)
class Ids:
    """Ids by row: that of row r, of segment s, is bases[s] + step · r + rest[r].

    `starts` has the first row of each segment. Where chunks were sealed as they came, a step of 1
    leaves little or nothing.
    """

    starts: Integers
    bases: Integers
    step: int
    rest: Integers

    def __getitem__(self, rows: Integers) -> Integers:
        segments = self.starts.searchsorted(rows, "right") - 1
        values: Integers = self.rest[rows] + self.bases[segments]
        return values + rows if self.step else values

    def within(self, segment: int, start: int, end: int) -> Integers:
        """Return the ids of a segment's rows, from `start` to before `end`."""
        values = self.rest[start:end].astype(np.int64)  # numpy 1 would add in the narrow type
        values += self.bases[segment]
        return values + np.arange(start, end) if self.step else values

    def whole(self) -> Integers:
        """Return the ids of all rows."""
        bounds = pairwise([*self.starts.tolist(), len(self.rest)])
        parts = [self.within(segment, *of) for segment, of in enumerate(bounds)]
        return np.concatenate([np.empty(0, np.int64), *parts])


@dataclass(slots=True, eq=False, repr=False)
class SealedRows:
    """Rows of segments, one segment after the other; see ChunkRows."""

    chunk_ids: Ids
    document_ids: Ids
    chunk_indexes: Integers
    lengths: Integers
    own_lengths: Integers

    def __len__(self) -> int:
        return len(self.lengths)

    def whole(self) -> ChunkRows:
        """Return the rows as wide arrays."""
        ids = self.chunk_ids.whole(), self.document_ids.whole()
        return ChunkRows(*ids, self.chunk_indexes, self.lengths, self.own_lengths)

    def arrays(self) -> list[Integers]:
        """Return what takes memory by row."""
        numbers = [self.chunk_indexes, self.lengths, self.own_lengths]
        return [self.chunk_ids.rest, self.document_ids.rest, *numbers]


def seal_rows(rows: ChunkRows) -> SealedRows:
    """Return the rows of one segment."""
    lengths, own_lengths = narrow(rows.lengths), narrow(rows.own_lengths)
    return SealedRows(
        narrow_ids(rows.chunk_ids),
        narrow_ids(rows.document_ids),
        narrow(rows.chunk_indexes),
        lengths,
        lengths if np.array_equal(lengths, own_lengths) else own_lengths,
    )


def apart(rows: SealedRows) -> SealedRows:
    """Return rows in pages of their own: those leave no holes in memory when they are freed."""
    lengths, own_lengths = own_pages(rows.lengths), rows.own_lengths
    return SealedRows(
        replace(rows.chunk_ids, rest=own_pages(rows.chunk_ids.rest)),
        replace(rows.document_ids, rest=own_pages(rows.document_ids.rest)),
        own_pages(rows.chunk_indexes),
        lengths,
        lengths if own_lengths is rows.lengths else own_pages(own_lengths),
    )


LARGE = 1 << 14  # bytes of an array: pages of its own would be more than a small one needs


def own_pages(array: Integers) -> Integers:
    """Return a copy in pages of its own, the array itself where it takes little memory.

    A process may have 65,530 mappings, fewer than segments that a reader may read.
    """
    if own_bytes(array) < LARGE:
        return array
    copy = np.frombuffer(mmap(-1, array.nbytes), array.dtype)
    copy[:] = array
    return copy


def join_sealed(parts: Sequence[SealedRows]) -> SealedRows:
    """Return the rows of all parts, one part after the other."""
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    lengths = joined([part.lengths for part in parts])
    is_own = all(part.own_lengths is part.lengths for part in parts)
    return SealedRows(
        join_ids([part.chunk_ids for part in parts], starts),
        join_ids([part.document_ids for part in parts], starts),
        joined([part.chunk_indexes for part in parts]),
        lengths,
        lengths if is_own else joined([part.own_lengths for part in parts]),
    )


# numpy takes microseconds to tell the limits of a type; a reader may have 50,000 segments.
LARGEST = (1 << 63) - 1
NARROW = [(np.uint8, 1 << 8), (np.uint16, 1 << 16), (np.uint32, 1 << 32)]


def narrow_ids(ids: Integers, steps: Sequence[int] = (1, 0)) -> Ids:
    """Return the ids of one segment, with the step that leaves least."""
    kept = []
    for step in steps:
        rest = ids - np.arange(len(ids)) if step else ids.copy()
        base = rest.min(initial=LARGEST)
        rest -= base
        kept.append(Ids(np.zeros(1, np.int64), np.array([base]), step, narrow(rest)))
        if not own_bytes(kept[-1].rest):
            break
    return min(kept, key=lambda one: own_bytes(one.rest))


def join_ids(parts: Sequence[Ids], starts: Integers) -> Ids:
    """Return the ids of segments as one; `starts` are their first rows."""
    if len({part.step for part in parts}) > 1:
        parts = [narrow_ids(part.whole(), (0,)) for part in parts]
    bases = np.array([int(part.bases[0]) for part in parts], np.int64)
    step = parts[0].step if parts else 0
    return Ids(starts, bases - step * starts, step, joined([part.rest for part in parts]))


def joined(parts: Sequence[Integers]) -> Integers:
    """Return numbers from 0 on, one part after the other."""
    if not held_bytes(parts):
        return narrow(np.zeros(sum(map(len, parts)), np.uint8))
    return np.concatenate(parts)


def narrow(numbers: Integers) -> Integers:
    """Return numbers from 0 on in the smallest type; zeros alone take no memory."""
    most = int(numbers.max(initial=0))
    if not most:
        return np.broadcast_to(np.uint8(0), len(numbers))
    return numbers.astype(next((type_ for type_, limit in NARROW if most < limit), np.int64))


def own_bytes(array: np.ndarray) -> int:
    """Return how much memory an array takes, which one number repeated does not."""
    return 0 if 0 in array.strides else array.nbytes


def held_bytes(arrays: Sequence[np.ndarray]) -> int:
    """Return how much memory arrays take, each counted once."""
    different = {id(array): array for array in arrays}
    return sum(map(own_bytes, different.values()))


@dataclass(slots=True, eq=False, repr=False)
class Segment:
    """A segment as it is stored; its postings are in blocks of their own.

    `code_bytes` is the size of a code in the postings: 2 where there are more than 256 distinct
    frequencies. `terms` ascend, `starts` says where the postings of each start, with the end of the
    last at its end.
    """

    id: int
    config: str
    rows: ChunkRows
    alive: Mask
    code_book: Integers
    code_bytes: int
    terms: Integers
    starts: Integers


@dataclass(slots=True, eq=False, repr=False)
class Source:
    """Rows with their postings, to be merged into a segment.

    `alive` has one entry a row. A posting has its term, its row (ordinal) and six counts in one
    number (frequency). The first count is the highest byte of 48 bits.
    """

    rows: ChunkRows
    alive: Mask
    terms: Integers
    ordinals: Integers
    frequencies: Integers


@dataclass(slots=True, eq=False, repr=False)
class Merged:
    """The arrays of one new segment: rows in the order of chunk ids, then one entry a term.

    `starts` of the terms are places in `ordinals` (uint16) and `codes` (uint8, or uint16 where
    there are more than 256 distinct frequencies), which are places in the `code_book`.
    """

    rows: ChunkRows
    code_book: Integers
    terms: Integers
    starts: Integers
    counts: Integers
    ordinals: Integers
    codes: Integers


def block_size(code_bytes: int) -> int:
    """Return how many postings, of 2 bytes and a code's 1 or 2 each, fill a page of 8 kB."""
    return {1: 2688, 2: 2016}[code_bytes]


def read_block(data: bytes, code_bytes: int) -> tuple[Integers, Integers]:
    """Return the ordinals and the codes of a block (see posting_blocks)."""
    count = len(data) // (2 + code_bytes)
    return np.frombuffer(data, "<u2", count), np.frombuffer(data, f"<u{code_bytes}", -1, 2 * count)


def posting_blocks(ordinals: Integers, codes: Integers) -> list[bytes]:
    """Return blocks of ordinals (uint16) and codes (uint8 or uint16), which are parallel arrays.

    A block has the ordinals, then the codes, of the same postings; all but the last have the same
    number.
    """
    size = block_size(codes.itemsize)
    return [
        ordinals[start : start + size].tobytes() + codes[start : start + size].tobytes()
        for start in range(0, len(ordinals), size)
    ]


def unpack_segment(stored: Row) -> Segment:
    """Return a segment's arrays from its stored bytes (little-endian).

    Bytes that do not fit each other raise a ValueError.
    """
    rows = stored_rows(stored, "<")
    code_book = np.frombuffer(stored["code_book"], "<i8")
    df = np.frombuffer(stored["document_frequencies"], "<u2")
    terms = np.frombuffer(stored["terms"], "<i8")
    dead = np.frombuffer(stored["dead"], "<i4")
    check_segment(rows, df, terms, dead, stored["n"])
    alive = np.ones(stored["n"], np.bool_)
    alive[dead] = False
    return Segment(
        id=stored["id"],
        config=stored["text_search_config"],
        rows=rows,
        alive=alive,
        code_book=code_book,
        code_bytes=1 if len(code_book) <= 256 else 2,
        terms=terms,
        starts=starts_of(df),
    )


def starts_of(stored_df: Integers) -> Integers:
    """Return where the postings of each term start, and the last end; df are stored less by one.

    A segment has fewer than 2^32 postings.
    """
    starts = np.arange(len(stored_df) + 1, dtype=np.uint32)
    starts[1:] += np.cumsum(stored_df, dtype=np.uint32)
    return starts


def check_segment(rows: ChunkRows, df: Integers, terms: Integers, dead: Integers, n: int) -> None:
    """Raise a ValueError where the arrays of a segment of `n` rows do not fit each other."""
    for name, column in zip(COLUMN_TYPES, rows.columns(), strict=True):
        if len(column) != n:
            raise ValueError(f"{len(column)} {name} where there should be {n}")
    if len(terms) != len(df):
        raise ValueError(f"{len(df)} document_frequencies where there should be {len(terms)}")
    for name, ids in (("chunk_ids", rows.chunk_ids), ("terms", terms)):
        if not (ids[1:] > ids[:-1]).all():
            raise ValueError(f"{name} do not ascend")
    if ((dead < 0) | (dead >= n)).any():
        raise ValueError(f"dead has rows that are none of {n}")


def add_postings(segment: Segment, blocks: Sequence[bytes]) -> Source:
    """Return a segment with its postings.

    `blocks` are all of the segment's, in order. Bytes that do not fit the segment raise a
    ValueError.
    """
    pairs = [read_block(data, segment.code_bytes) for data in blocks or [b""]]
    ordinals = np.concatenate([part for part, _ in pairs])
    codes = np.concatenate([part for _, part in pairs])
    counts = np.diff(segment.starts)
    if not len(ordinals) == len(codes) == counts.sum():
        raise ValueError(f"{len(ordinals)} postings where there should be {counts.sum()}")
    if (ordinals >= len(segment.alive)).any() or (codes >= len(segment.code_book)).any():
        raise ValueError("postings of rows or codes that it does not have")
    return Source(
        segment.rows,
        segment.alive,
        terms=np.repeat(segment.terms, counts),
        ordinals=ordinals,
        frequencies=segment.code_book[codes],
    )


def merge_postings(sources: Sequence[Source]) -> Merged:
    """Merge sources into the arrays of one new segment, leaving out rows that are not alive."""
    alive = [np.flatnonzero(source.alive) for source in sources]
    rows = join_rows([source.rows.take(some) for source, some in zip(sources, alive, strict=True)])
    by_chunk = np.argsort(rows.chunk_ids, kind="stable")
    ordinal_of_row = np.empty(len(by_chunk), np.int64)
    ordinal_of_row[by_chunk] = np.arange(len(by_chunk))

    terms, ordinals, frequencies = [], [], []
    offset = 0
    for source, some in zip(sources, alive, strict=True):
        new_row = np.full(len(source.rows), -1)
        new_row[some] = ordinal_of_row[offset : offset + len(some)]
        offset += len(some)
        moved = new_row[source.ordinals]
        kept = moved >= 0
        terms.append(source.terms[kept])
        ordinals.append(moved[kept])
        frequencies.append(source.frequencies[kept])
    all_terms = np.concatenate(terms)
    all_ordinals = np.concatenate(ordinals)
    by_term = np.lexsort((all_ordinals, all_terms))
    all_frequencies = np.concatenate(frequencies)[by_term]
    code_book = np.unique(all_frequencies)
    codes = code_book.searchsorted(all_frequencies)
    distinct, starts, counts = np.unique(all_terms[by_term], return_index=True, return_counts=True)
    return Merged(
        rows=rows.take(by_chunk),
        code_book=code_book,
        terms=distinct,
        starts=starts,
        counts=counts,
        ordinals=all_ordinals[by_term].astype("<u2"),
        codes=codes.astype("u1" if len(code_book) <= 256 else "<u2"),
    )


FANOUT = 4
CAPACITY = 65_536
DEAD_SHARE = 0.2


def choose_merge(sizes: Sequence[int], live: Sequence[int], pending: int) -> list[int]:
    """Return the places of the segments to merge with `pending` new rows into one.

    Sizes fall into tiers, each four times the one below. A tier is merged when it would hold four
    segments, and the result may fill the next. A segment with more than a fifth of its rows dead is
    merged as well. The merged segment holds at most 65,536 live rows.
    """
    merged: list[int] = []
    total = pending
    by_size = sorted(range(len(sizes)), key=lambda place: live[place])
    for place in by_size:
        if live[place] < (1 - DEAD_SHARE) * sizes[place] and total + live[place] <= CAPACITY:
            merged.append(place)
            total += live[place]
    while True:
        mates = [
            place for place in by_size if place not in merged and tier(live[place]) <= tier(total)
        ]
        if len(mates) < FANOUT - 1 or total + live[mates[0]] > CAPACITY:
            return sorted(merged)
        for place in mates:
            if total + live[place] <= CAPACITY:
                merged.append(place)
                total += live[place]


def tier(rows: int) -> int:
    """Return the tier of a size: 0 up to 1,024 rows, then one for each factor of four."""
    result, limit = 0, 1024
    while rows > limit:
        result, limit = result + 1, limit * FANOUT
    return result


def segment_arguments(merged: Merged) -> tuple[list[int], list[bytes], list[bytes]]:
    """Return [rows, length], the arrays of the segment and the blocks of its postings, as bytes.

    The arrays are little-endian, in the order of the table's columns.
    """
    columns = zip(merged.rows.columns(), COLUMN_TYPES.values(), strict=True)
    arrays = [
        *(column.astype("<" + type_).tobytes() for column, type_ in columns),
        merged.code_book.astype("<i8").tobytes(),
        merged.terms.astype("<i8").tobytes(),
        (merged.counts - 1).astype("<u2").tobytes(),
    ]
    return (
        [len(merged.rows), int(merged.rows.lengths.sum())],
        arrays,
        posting_blocks(merged.ordinals, merged.codes),
    )


_WRITE = """
WITH segment AS (
    INSERT INTO pgblend_data.segment (
        collection_id, text_search_config, n, total_length, chunk_ids, document_ids,
        chunk_indexes, lengths, own_lengths, code_book, terms, document_frequencies, bytes,
        signature
    )
    VALUES ($1, $2, $3, $4, $5[1], $5[2], $5[3], $5[4], $5[5], $5[6], $5[7], $5[8], $7, $8)
    RETURNING id
)
INSERT INTO pgblend_data.posting (segment_id, block, collection_id, data)
SELECT s.id, b.place - 1, $1, b.data
FROM segment AS s
CROSS JOIN unnest($6) WITH ORDINALITY AS b (data, place)
"""
_WRITE_TYPES = ["bigint", "text", "integer", "bigint", "bytea[]", "bytea[]", "bigint", "bytea"]


def write_segment(db: Database, collection_id: int, config: str, merged: Merged) -> None:
    """Store a segment, signed, and its postings."""
    (rows, length), arrays, blocks = segment_arguments(merged)
    size = sum(map(len, [*arrays, *blocks]))
    signature = sign_segment(db, collection_id, config, arrays, blocks)
    values = rows, length, arrays, blocks, size, signature
    db.run(_WRITE, _WRITE_TYPES, collection_id, config, *values)
