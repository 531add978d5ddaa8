"""Sealed segments: read, merged and written."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgblend.plpy.lexical.rows import (
    COLUMN_TYPES,
    ChunkRows,
    Integers,
    Mask,
    join_rows,
    stored_rows,
)
from pgblend.plpy.lexical.signature import sign_segment
from pgblend.plpy.session import Database, Row


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
    number (frequency): the first count is the highest byte of 48 bits.
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

    Sizes fall into tiers, each four times the one below; a tier is merged when it would hold four
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
