"""Sealing: which segments are merged, and what a merge gives."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.lexical.segment import CAPACITY, choose_merge, merge_postings
from support.lexical_chunks import CHUNKS, as_source, packed, with_ids

SIZES = st.lists(
    st.integers(1, CAPACITY).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size))),
    max_size=40,
)


def same(left, right):
    pairs = [
        (getattr(part, name), getattr(other, name))
        for part, other in ((left, right), (left.rows, right.rows))
        for name in part.__slots__
        if name != "rows"
    ]
    return all(np.array_equal(one, two) and one.dtype == two.dtype for one, two in pairs)


def with_fate(chunks):
    source = as_source(chunks)
    source.alive = np.array([chunk["fate"] != "dead" for chunk in chunks], np.bool_)
    return source


@given(chunks=CHUNKS.filter(bool).map(with_ids), cuts=st.randoms(use_true_random=False))
def test_a_merge_equals_sealing_all_at_once(chunks, cuts):
    parts = [[], [], []]
    for chunk in chunks:
        cuts.choice(parts).append(chunk)
    sources = [with_fate(part) for part in parts if part]
    merged = merge_postings(sources)
    assert same(merged, merge_postings(sources[::-1]))
    alive = [chunk for chunk in chunks if chunk["fate"] != "dead"]
    assert same(merged, merge_postings([as_source(alive)]))
    assert merged.rows.chunk_ids.tolist() == sorted(chunk["id"] for chunk in alive)
    chunk_ids, frequencies = merged.rows.chunk_ids[merged.ordinals], merged.code_book[merged.codes]
    restored = {
        (int(term), int(chunk_ids[at])): int(frequencies[at])
        for term, start, count in zip(merged.terms, merged.starts, merged.counts, strict=True)
        for at in range(start, start + count)
    }
    assert restored == {
        (term, chunk["id"]): packed(counts)
        for chunk in alive
        for term, counts in chunk["words"].items()
    }


@given(segments=SIZES, pending=st.integers(0, 20_000))
def test_a_merge_never_exceeds_the_capacity(segments, pending):
    sizes, live = [size for size, _ in segments], [alive for _, alive in segments]
    chosen = choose_merge(sizes, live, pending)
    assert chosen == sorted(set(chosen))
    assert pending + sum(live[place] for place in chosen) <= CAPACITY
    for place in set(range(len(sizes))) - set(chosen):
        if live[place] < 0.8 * sizes[place]:  # left only where it does not fit
            assert pending + sum(live[c] for c in chosen) + live[place] > CAPACITY


def test_a_growing_collection_stays_at_about_twenty_segments():
    chance = random.Random(3)
    sizes, written, rows = [], 0, 0
    most = 0
    while rows < 500_000:
        pending = chance.choice([1, 50, 300, 1000, 1000, 1000, 5000, 20_000])
        rows += pending
        chosen = choose_merge(sizes, sizes, pending)
        merged = pending + sum(sizes[place] for place in chosen)
        sizes = [size for place, size in enumerate(sizes) if place not in chosen] + [merged]
        written += merged
        full = sum(size > CAPACITY // 2 for size in sizes)
        most = max(most, len(sizes) - full)
    assert sum(sizes) == rows
    assert most <= 21
    assert written < 6 * rows  # each chunk is written a few times, not once a seal
