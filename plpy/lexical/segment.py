"""Sealed segments: read, merged and written."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def block_size(code_bytes: int) -> int:
    """Return how many postings, of 2 bytes and a code's 1 or 2 each, fill a page of 8 kB."""
    return {1: 2688, 2: 2016}[code_bytes]


def read_block(data: bytes, code_bytes: int) -> tuple[Any, Any]:
    """Return the ordinals and the codes of a block (see posting_blocks)."""
    count = len(data) // (2 + code_bytes)
    return np.frombuffer(data, "<u2", count), np.frombuffer(data, f"<u{code_bytes}", -1, 2 * count)


def posting_blocks(ordinals: Any, codes: Any) -> list[bytes]:
    """Return blocks of ordinals (uint16) and codes (uint8 or uint16), which are parallel arrays.

    A block has the ordinals, then the codes, of the same postings; all but the last have the same
    number.
    """
    size = block_size(codes.itemsize)
    return [
        ordinals[start : start + size].tobytes() + codes[start : start + size].tobytes()
        for start in range(0, len(ordinals), size)
    ]


ROW_ARRAYS = {
    "chunk_ids": "<i8",
    "document_ids": "<i8",
    "chunk_indexes": "<i4",
    "lengths": "<i4",
    "own_lengths": "<i4",
}


def unpack_segment(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a segment's arrays from its stored bytes (little-endian).

    `alive` is a mask of the rows that are not deleted, `code_bytes` the size of a code in
    the segment's postings: 2 where there are more than 256 distinct frequencies. `terms` ascend,
    `starts` says where the postings of each start, with the end of the last at its end. Bytes that
    do not fit each other raise a ValueError.
    """
    rows = {name: np.frombuffer(columns[name], kind) for name, kind in ROW_ARRAYS.items()}
    code_book = np.frombuffer(columns["code_book"], "<i8")
    df = np.frombuffer(columns["document_frequencies"], "<u2").astype(np.int64) + 1
    terms = np.frombuffer(columns["terms"], "<i8")
    dead = np.frombuffer(columns["dead"], "<i4")
    for name, values in rows.items():
        if len(values) != columns["n"]:
            raise ValueError(f"{len(values)} {name} where there should be {columns['n']}")
    if len(terms) != len(df):
        raise ValueError(f"{len(df)} document_frequencies where there should be {len(terms)}")
    for name, ids in (("chunk_ids", rows["chunk_ids"]), ("terms", terms)):
        if not (ids[1:] > ids[:-1]).all():
            raise ValueError(f"{name} do not ascend")
    if ((dead < 0) | (dead >= columns["n"])).any():
        raise ValueError(f"dead has rows that are none of {columns['n']}")
    alive = np.ones(columns["n"], np.bool_)
    alive[dead] = False
    return {
        "id": columns["id"],
        "config": columns["text_search_config"],
        **rows,
        "code_book": code_book,
        "code_bytes": 1 if len(code_book) <= 256 else 2,
        "terms": terms,
        "starts": np.concatenate(([0], np.cumsum(df))),
        "alive": alive,
    }


def add_postings(segment: dict[str, Any], blocks: Sequence[bytes]) -> dict[str, Any]:
    """Return an unpacked segment with `terms`, `ordinals` and `frequencies` of each posting.

    `blocks` are all of the segment's, in order. Bytes that do not fit the segment raise a
    ValueError.
    """
    pairs = [read_block(data, segment["code_bytes"]) for data in blocks or [b""]]
    ordinals, codes = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    counts = np.diff(segment["starts"])
    if not len(ordinals) == len(codes) == counts.sum():
        raise ValueError(f"{len(ordinals)} postings where there should be {counts.sum()}")
    if (ordinals >= len(segment["alive"])).any() or (codes >= len(segment["code_book"])).any():
        raise ValueError("postings of rows or codes that it does not have")
    return {
        **segment,
        "terms": np.repeat(segment["terms"], counts),
        "ordinals": ordinals,
        "frequencies": segment["code_book"][codes],
    }


def merge_postings(sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge sources into the arrays of one new segment, leaving out rows that are not alive.

    A source has `chunk_ids`, `document_ids`, `chunk_indexes`, `lengths`, `own_lengths` and `alive`
    (one entry a row), and for each posting `terms`, `ordinals` (the row) and `frequencies` (six
    counts in one number, as unpack_pending has them).

    Returns the rows' arrays in the order of chunk_ids, the `code_book` of distinct frequencies and,
    one entry a term, `terms`, `counts` and `starts` into `ordinals` (uint16) and `codes` (uint8, or
    uint16 where there are more than 256 distinct frequencies).
    """
    alive = [np.flatnonzero(source["alive"]) for source in sources]
    row_arrays = {
        name: np.concatenate(
            [source[name][rows] for source, rows in zip(sources, alive, strict=True)]
        )
        for name in ("chunk_ids", "document_ids", "chunk_indexes", "lengths", "own_lengths")
    }
    by_chunk = np.argsort(row_arrays["chunk_ids"], kind="stable")
    ordinal_of_row = np.empty(len(by_chunk), np.int64)
    ordinal_of_row[by_chunk] = np.arange(len(by_chunk))

    terms, ordinals, frequencies = [], [], []
    offset = 0
    for source, rows in zip(sources, alive, strict=True):
        new_row = np.full(len(source["chunk_ids"]), -1)
        new_row[rows] = ordinal_of_row[offset : offset + len(rows)]
        offset += len(rows)
        moved = new_row[source["ordinals"]]
        kept = moved >= 0
        terms.append(source["terms"][kept])
        ordinals.append(moved[kept])
        frequencies.append(source["frequencies"][kept])
    all_terms = np.concatenate(terms)
    all_ordinals = np.concatenate(ordinals)
    by_term = np.lexsort((all_ordinals, all_terms))
    all_frequencies = np.concatenate(frequencies)[by_term]
    code_book = np.unique(all_frequencies)
    codes = code_book.searchsorted(all_frequencies)
    distinct, starts, counts = np.unique(all_terms[by_term], return_index=True, return_counts=True)
    return {
        **{name: values[by_chunk] for name, values in row_arrays.items()},
        "code_book": code_book,
        "terms": distinct,
        "starts": starts,
        "counts": counts,
        "ordinals": all_ordinals[by_term].astype("<u2"),
        "codes": codes.astype("u1" if len(code_book) <= 256 else "<u2"),
    }


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


def segment_arguments(merged: dict[str, Any]) -> list[Any]:
    """Return [rows, length], the arrays of the segment and the blocks of its postings, as bytes.

    `merged` is what merge_postings returns; the arrays are little-endian, in the order of the
    table's columns.
    """
    row_arrays = [
        merged["chunk_ids"].astype("<i8").tobytes(),
        merged["document_ids"].astype("<i8").tobytes(),
        merged["chunk_indexes"].astype("<i4").tobytes(),
        merged["lengths"].astype("<i4").tobytes(),
        merged["own_lengths"].astype("<i4").tobytes(),
        merged["code_book"].astype("<i8").tobytes(),
        merged["terms"].astype("<i8").tobytes(),
        (merged["counts"] - 1).astype("<u2").tobytes(),
    ]
    return [
        [len(merged["chunk_ids"]), int(merged["lengths"].sum())],
        row_arrays,
        posting_blocks(merged["ordinals"], merged["codes"]),
    ]
