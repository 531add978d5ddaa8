"""Rows of segments in few bytes, against the same as wide arrays."""

from mmap import mmap
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.lexical.chunk_rows import ChunkRows, join_rows
from pgblend.plpy.lexical.index import lexical_view
from pgblend.plpy.lexical.segment import (
    SealedRows,
    Segment,
    apart,
    held_bytes,
    join_sealed,
    narrow,
    narrow_ids,
    seal_rows,
)

NUMBERS = st.integers(0, 1 << 40) | st.integers(0, 300)
ROW = st.tuples(st.integers(-(1 << 40), 1 << 62), NUMBERS, NUMBERS, NUMBERS)
SEGMENT = st.lists(ROW, min_size=1, max_size=9).map(
    lambda rows: ChunkRows(
        10 + 3 * np.arange(len(rows)),
        *(np.array(column, np.int64) for column in zip(*rows, strict=True)),
    )
)


def columns(rows: ChunkRows | SealedRows) -> list[list[int]]:
    places = np.arange(len(rows))
    names = ChunkRows.__slots__
    return [getattr(rows, name)[places].tolist() for name in names]


@given(st.lists(SEGMENT, max_size=4))
def test_they_are_the_same(segments: list[ChunkRows]) -> None:
    expected = columns(join_rows(segments))
    found = join_sealed([apart(seal_rows(rows)) for rows in segments])
    assert columns(found) == columns(found.whole()) == expected
    start = 0
    for segment, rows in enumerate(segments):
        end = start + len(rows)
        assert found.chunk_ids.within(segment, start, end).tolist() == rows.chunk_ids.tolist()
        start = end


@given(st.lists(st.integers(0, 400), min_size=1))
def test_ids_that_a_byte_apart_holds_are_more_than_a_byte(ids: list[int]) -> None:
    narrowed = narrow_ids(np.array(ids))
    assert narrowed.within(0, 0, len(ids)).tolist() == ids
    assert narrowed[np.arange(len(ids))].tolist() == ids


def rows_of(count: int, first: int, each: int) -> ChunkRows:
    """Return chunks as they came, so many of each document."""
    ids, lengths = first + np.arange(count), np.full(count, 200)
    return ChunkRows(ids, ids // each, ids % each, lengths, lengths - (ids % each > 0))


def test_rows_as_they_came_take_few_bytes() -> None:
    whole = [seal_rows(rows_of(60_000, first, 1)) for first in (5, 1 << 40)]
    assert held_bytes(join_sealed(whole).arrays()) == 120_000  # one length each
    parts = [seal_rows(rows_of(60_000, first, 8)) for first in (5, 1 << 40)]
    assert held_bytes(join_sealed(parts).arrays()) == 120_000 * (2 + 1 + 1 + 1)


def test_a_type_is_the_smallest_that_fits() -> None:
    mosts = {255: "u1", 256: "u2", 65_536: "u4", 1 << 32: "i8"}
    assert {most: narrow(np.array([0, most])).dtype.str[1:] for most in mosts} == mosts


def test_rows_apart_take_as_few_bytes() -> None:
    for each in (1, 8):
        sealed = seal_rows(rows_of(60_000, 5, each))
        moved = apart(sealed)
        assert held_bytes(moved.arrays()) == held_bytes(sealed.arrays())
        assert (moved.own_lengths is moved.lengths) == (each == 1)
        pages = [memoryview(one.base).obj for one in moved.arrays() if held_bytes([one])]
        assert {*map(type, pages)} == {mmap}


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def test_rows_of_small_segments_take_no_mapping_each() -> None:
    """A process may have 65,530, fewer than compartments that one may read."""
    before = mappings()
    kept = [apart(seal_rows(rows_of(9, 5, 8))) for _ in range(1000)]
    assert mappings() - before < len(kept) / 2


def test_codes_of_many_segments_take_as_little_as_those_of_one() -> None:
    """A session keeps one for each posting that it read."""
    once, alive = np.arange(1, 100) << 40, np.ones(2, np.bool_)
    of_terms = np.array([7]), np.array([0, 2], np.uint32)
    segments = [
        Segment(place, "simple", rows_of(2, 2 * place, 1), alive, once[place % 2 :], 1, *of_terms)
        for place in range(300)
    ]
    view = lexical_view(segments)
    assert (view.codes.dtype, len(view.frequencies)) == (np.uint8, 99)
    kept = view.codes[view.code_offsets[[298, 299]]]
    assert view.frequencies[kept].tolist() == [[1, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]]
