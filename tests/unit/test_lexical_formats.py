"""How lexemes, pending chunks and segments are laid out in bytes, written and read back."""

import struct
import time

import numpy as np
import pytest

from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.lexical.pending import unpack_pending
from pgblend.plpy.lexical.records import Packed, pack_lexemes, read_lexemes, term_ids
from pgblend.plpy.lexical.segment import (
    add_postings,
    merge_postings,
    posting_blocks,
    read_block,
    segment_arguments,
    unpack_segment,
)
from pgblend.plpy.lexical.word_list import Deadline, arm_deadline

A, B, C, D = 3 << 14, 2 << 14, 1 << 14, 0
ARRAYS = ("chunk_ids", "document_ids", "chunk_indexes", "lengths", "own_lengths", "code_book")
ARRAYS += ("terms", "document_frequencies")


def vector(*lexemes: tuple[str, list[int]]) -> bytes:
    """A tsvector as tsvectorsend() writes it: positions carry their weight in the top bits."""
    parts = [struct.pack(">i", len(lexemes))]
    for lexeme, positions in lexemes:
        head = lexeme.encode() + b"\0" + struct.pack(">H", len(positions))
        parts.append(head + struct.pack(f">{len(positions)}H", *positions))
    return b"".join(parts)


def pack(packed: bytes, own_position: int = 0, known: dict[bytes, bytes] | None = None) -> Packed:
    """Pack a tsvector as it is sent."""
    return pack_lexemes(read_lexemes(packed), own_position, {} if known is None else known)


def pending(*vectors: bytes) -> dict:
    records = [pack(one).records for one in vectors]
    n = len(vectors)
    return {
        "chunk_ids": struct.pack(f">{n}q", *range(10, 10 + n)),
        "document_ids": struct.pack(f">{n}q", *range(n)),
        "chunk_indexes": struct.pack(f">{n}i", *[0] * n),
        "lengths": struct.pack(f">{n}i", *[4] * n),
        "own_lengths": struct.pack(f">{n}i", *[3] * n),
        "record_counts": struct.pack(f">{n}i", *[len(one) // 14 for one in records]),
        "records": b"".join(records),
    }


def test_pack_counts_by_field_and_remembers_ids():
    ids: dict[bytes, bytes] = {}
    words = vector(("fox", [A | 1, B | 2, D | 3, D | 4]), ("ünï", [D | 5]))
    packed = pack(words, 0, ids)
    terms = term_ids(["fox", "ünï"])
    assert packed.records == b"".join(
        struct.pack(">q6B", term, *counts, 0, 0, 0)
        for term, counts in zip(terms, [(1, 1, 2), (0, 0, 1)], strict=True)
    )
    assert set(ids) == {b"fox", "ünï".encode()}
    assert packed[1:] == (5, 5)
    assert pack(vector(), 9, ids) == (b"", 0, 0)


@pytest.mark.parametrize("positions", [0, 1, 2, 9, 10, 255])
def test_a_lexeme_has_any_number_of_positions(positions):
    words = vector(("a\n", [A | 5, *range(10, 10 + positions)]), ("b", [*range(positions)]))
    packed = pack(words)
    counts = [packed.records[place : place + 6] for place in (8, 22)]
    assert counts == [bytes((1, 0, positions, 0, 0, 0)), bytes((0, 0, positions, 0, 0, 0))]
    assert packed[1:] == (1 + 2 * positions, 1 + 2 * positions)


def test_an_identifier_counts_as_often_as_can_be():
    packed = pack(vector(("=err-1042", [C | 1])))
    assert packed.records[8:] == bytes((0, 0, 255, 0, 0, 0))
    assert packed[1:] == (0, 0)


def test_words_of_a_name_count_for_no_length():
    packed = pack(vector(("rep", [C | 4]), ("report", [A | 1, D | 2, C | 3])), 1)
    counts = [tuple(packed.records[place : place + 6]) for place in (8, 22)]
    assert counts == [(0, 0, 1, 0, 0, 0), (0, 0, 2, 1, 0, 0)]
    assert packed[1:] == (2, 1)


def test_what_repeats_the_chunk_before_is_counted_apart():
    fox = ("fox", [A | 1, B | 2, D | 300, D | 301, D | 302, B | 303])
    packed = [pack(vector(fox), last) for last in (0, 1, 2, 301, 16383)]
    assert [one[1:] for one in packed] == [(6, 6), (6, 5), (6, 4), (6, 2), (6, 0)]
    assert [tuple(one.records[8:]) for one in packed] == [
        (1, 2, 3, 0, 0, 0),
        (0, 2, 3, 1, 0, 0),
        (0, 1, 3, 1, 1, 0),
        (0, 1, 1, 1, 1, 2),
        (0, 0, 0, 1, 2, 3),
    ]


def test_pending_chunks_read_back():
    found = unpack_pending(pending(vector(("a", [A | 1, D | 2])), vector(), vector(("b", [D | 1]))))
    assert found is not None
    assert found.rows.chunk_ids.tolist() == [10, 11, 12]
    assert found.terms.tolist() == term_ids(["a", "b"])
    assert found.ordinals.tolist() == [0, 2]
    assert found.frequencies.tolist() == [1 << 40 | 1 << 24, 1 << 24]
    assert found.rows.own_lengths.tolist() == [3, 3, 3]
    assert found.alive.all()


def test_nothing_pending_is_none():
    assert unpack_pending(dict.fromkeys(pending(), None)) is None


def test_a_segment_survives_writing_and_reading():
    source = unpack_pending(
        pending(vector(("a", [A | 1]), ("b", [D | 2, D | 3])), vector(("b", [D | 1])))
    )
    assert source is not None
    (n, total), arrays, blocks = segment_arguments(merge_postings([source]))
    assert (n, total, list(map(len, blocks))) == (2, 8, [9])
    stored = dict(zip(ARRAYS, arrays, strict=True)) | {
        "id": 1,
        "n": 2,
        "text_search_config": "simple",
        "dead": struct.pack("<i", 0),
    }
    segment = add_postings(unpack_segment(stored), blocks)
    with pytest.raises(ValueError, match="2 postings where there should be 3"):
        add_postings(unpack_segment(stored), [blocks[0][:6]])
    with pytest.raises(ValueError, match="0 postings where there should be 3"):
        add_postings(unpack_segment(stored), [])
    with pytest.raises(ValueError, match="postings of rows or codes"):
        add_postings(unpack_segment(stored), [b"\xff" * 9])
    for name, cut, reason in (
        ("lengths", 4, "1 lengths where there should be 2"),
        ("document_frequencies", 2, "1 document_frequencies where there should be 2"),
        ("chunk_ids", 1, "buffer size"),
    ):
        with pytest.raises(ValueError, match=reason):
            unpack_segment(stored | {name: stored[name][:-cut]})
    with pytest.raises(ValueError, match="chunk_ids do not ascend"):
        unpack_segment(stored | {"chunk_ids": stored["chunk_ids"][:8] * 2})
    with pytest.raises(ValueError, match="dead has rows that are none of 2"):
        unpack_segment(stored | {"dead": struct.pack("<i", 2)})
    assert segment.alive.tolist() == [False, True]
    postings = zip(segment.terms, segment.ordinals, segment.frequencies, strict=True)
    a, b = term_ids(["a", "b"])
    assert sorted((int(t), int(o), int(f)) for t, o, f in postings) == sorted(
        [(a, 0, 1 << 40), (b, 0, 2 << 24), (b, 1, 1 << 24)]
    )
    assert np.array_equal(segment.rows.lengths, [4, 4])
    assert np.array_equal(segment.rows.own_lengths, [3, 3])


@pytest.mark.parametrize(("distinct", "size"), [(256, 2688), (300, 2016)])
def test_blocks_fill_a_page_and_read_back(distinct, size):
    random = np.random.default_rng(distinct)
    ordinals = random.integers(0, 65_536, 9000).astype("<u2")
    codes = random.integers(0, distinct, 9000).astype("u1" if distinct == 256 else "<u2")
    blocks = posting_blocks(ordinals, codes)
    assert {len(block) // (2 + codes.itemsize) for block in blocks[:-1]} == {size}
    assert max(map(len, blocks)) + 48 <= 8160  # the largest row that fits a page
    pairs = [read_block(block, codes.itemsize) for block in blocks]
    assert np.array_equal(np.concatenate([pair[0] for pair in pairs]), ordinals)
    assert np.array_equal(np.concatenate([pair[1] for pair in pairs]), codes)


def test_a_deadline_fails_once_it_is_past() -> None:
    Deadline(float("inf")).check()
    with pytest.raises(ProgramError, match="lexical arm") as failed:
        Deadline(time.monotonic() - 1).check()
    assert failed.value.sqlstate == "PB009"


def test_an_arm_has_no_more_time_than_the_whole_search() -> None:
    now = time.monotonic()
    deadline = arm_deadline(5000, float("inf"))
    assert now + 5 <= deadline.at <= time.monotonic() + 5
    assert deadline.left_ms() <= 5000
    assert arm_deadline(5000, now + 3).at == now + 3
    with pytest.raises(ProgramError, match="whole search"):
        arm_deadline(5000, now - 1)
