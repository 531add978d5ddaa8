"""Pending chunks: read, kept in a session, and their postings."""

import struct
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.session import Database, Row, keep_value
from pgblend.plpy.lexical.chunk_rows import (
    COLUMN_TYPES,
    ROW,
    ChunkRows,
    Integers,
    Pair,
    stored_rows,
)
from pgblend.plpy.lexical.failures import report_damage
from pgblend.plpy.lexical.records import Packed, pack_chunks
from pgblend.plpy.lexical.segment import Source


@dataclass(slots=True, eq=False, repr=False)
class Pending:
    """Chunks that wait to be sealed, those of one configuration side by side.

    A posting has its term, its chunk (ordinal) and six counts: by field, of its own and repeated.
    `ranges` has (first chunk, after the last) by configuration; `places` remembers terms' postings.
    `collection_ids` are of the chunks.
    """

    rows: ChunkRows
    terms: Integers
    ordinals: Integers
    counts: Integers
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    places: dict[int, Integers] = field(default_factory=dict)
    collection_ids: Set[int] = frozenset()


RECORD = np.dtype(
    {
        "names": ["term", "counts", "last_8"],
        "formats": [">i8", ("u1", 6), ">i8"],
        "offsets": [0, 8, 6],
    }
)
KEY_BYTES = 12
RECORD_BYTES = 14
MOST_LISTS = 50
MOST_PLACES = 1000  # terms


def unpack_pending(columns: Row) -> Source | None:
    """Return pending chunks as a source of postings, None where there are none.

    `columns` are bytes with big-endian entries in the order of chunk ids. They are chunk_ids and
    document_ids (int64), chunk_indexes, lengths, own_lengths and record_counts (int32), and records
    (14 bytes a lexeme, see pack_lexemes).
    """
    if columns["chunk_ids"] is None:
        return None
    rows = stored_rows(columns, ">")
    records = np.frombuffer(columns["records"] or b"", RECORD)
    return Source(
        rows=rows,
        alive=np.ones(len(rows), np.bool_),
        terms=records["term"].astype(np.int64),
        ordinals=ordinals_of(np.frombuffer(columns["record_counts"], ">i4")),
        frequencies=records["last_8"].astype(np.int64) & (1 << 48) - 1,
    )


def ordinals_of(record_counts: Integers) -> Integers:
    """Return each record's chunk, of chunks with so many records."""
    return np.repeat(np.arange(len(record_counts), dtype=ROW), record_counts)


READ_CHUNKS = """
    SELECT c.chunk_id, int8send(c.chunk_id) || xidsend(c.xmin) AS key, c.collection_id,
        c.text_search_config, int8send(c.document_id) || int4send(c.chunk_index) AS place,
        int4send(c.length) || int4send(c.own_length) AS lengths, c.records
    FROM pgblend_data.pending AS c WHERE c.chunk_id = ANY($1)
"""
READ_LEXEMES = "SELECT w.* FROM pgblend._chunk_words($1) AS w"
WAITING = """
    SELECT p.chunk_id FROM pgblend_data.pending AS p
    WHERE p.collection_id = $1 AND p.text_search_config = $2 AND p.records IS NULL
        AND NOT EXISTS (
            SELECT FROM pgblend_data.unsettled AS u WHERE u.document_id = p.document_id)
"""
PACK = """
    UPDATE pgblend_data.pending AS p
    SET length = n.length, own_length = n.own_length, records = n.records
    FROM unnest($1, $2, $3, $4) AS n (chunk_id, length, own_length, records)
    WHERE p.chunk_id = n.chunk_id
"""
PACK_TYPES = ["bigint[]", "integer[]", "integer[]", "bytea[]"]


def pack_waiting(db: Database, collection_id: int, config: str) -> None:
    """Make the records of pending chunks that plain SQL wrote and the worker has settled."""
    found = db.run(WAITING, ["bigint", "text"], collection_id, config)
    if packed := packed_words(db, [row["chunk_id"] for row in found]):
        ids, made = [*packed], [*packed.values()]
        lengths, own = [one.length for one in made], [one.own_length for one in made]
        db.run(PACK, PACK_TYPES, ids, lengths, own, [one.records for one in made])


def packed_words(db: Database, chunk_ids: Sequence[int]) -> dict[int, Packed]:
    """Return chunks' lexemes as records, by chunk."""
    if not chunk_ids:
        return {}
    rows = db.run(READ_LEXEMES, ["bigint[]"], chunk_ids)
    return {row["chunk_id"]: one for row, one in zip(rows, pack_chunks(db, rows), strict=True)}


class Chunk(NamedTuple):
    """A pending chunk, with its columns (HEAD) and records (RECORD) as they are joined."""

    config: str
    head: bytes
    records: bytes
    collection_id: int


@dataclass(slots=True, eq=False, repr=False)
class PendingCache:
    """What a session keeps of pending chunks, which never change.

    Collections take turns, so chunks stay that a list of the last fifty names, or of some more.
    """

    listed: bytes | None = None
    chunks: dict[bytes, Chunk] = field(default_factory=dict)
    pending: Pending | None = None
    named: set[bytes] = field(default_factory=set)  # by the lists since some were forgotten
    lists: int = 0
    empty_lists: int = 0  # one after another

    def update(self, db: Database, listed: bytes | None) -> tuple[Pending | None, bool]:
        """Return the pending chunks that `listed` names, and whether any had to be read.

        `listed` has 12 bytes a chunk: its id (big-endian int64) and the transaction that added it.
        An id may be given anew. None where there are none.
        """
        if not listed:
            self.empty_lists += 1
            if self.empty_lists == MOST_LISTS:
                self.listed = self.pending = None
                self.forget([])
            return None, False
        self.empty_lists = 0
        if self.listed == listed:
            return self.pending, False
        keys = [listed[at : at + KEY_BYTES] for at in range(0, len(listed), KEY_BYTES)]
        missing = [int.from_bytes(key[:8], "big") for key in keys if key not in self.chunks]
        rows = db.run(READ_CHUNKS, ["bigint[]"], missing) if missing else []
        made = packed_words(db, [row["chunk_id"] for row in rows if row["records"] is None])
        for row in rows:
            records, lengths = row["records"], row["lengths"]
            if (own := made.get(row["chunk_id"])) is not None:
                records, lengths = own.records, struct.pack(">ii", own.length, own.own_length)
            elif records is None:
                continue  # its text is gone meanwhile
            if len(records) % RECORD_BYTES:
                report_damage(db, "pending", row["chunk_id"], "its records are cut off")
            head = row["place"] + lengths + struct.pack(">i", len(records) // RECORD_BYTES)
            of = row["text_search_config"], head, records, row["collection_id"]
            self.chunks[row["key"]] = Chunk(*of)
        self.pending = join_chunks({key: self.chunks[key] for key in sorted(keys)})
        self.listed = listed
        self.named.update(keys)
        self.lists += 1
        if self.lists == MOST_LISTS:
            self.forget(keys)
        return self.pending, bool(missing)

    def forget(self, keys: Sequence[bytes]) -> None:
        """Forget chunks that no list has named since the last time; without `keys` all."""
        named = self.named if keys else ()
        self.chunks = {key: chunk for key, chunk in self.chunks.items() if key in named}
        self.named, self.lists = set(keys), 0


KEY = np.dtype([("chunk_ids", ">i8"), ("transaction", ">u4")])
HEAD = np.dtype(
    [
        ("document_ids", ">i8"),
        ("chunk_indexes", ">i4"),
        ("lengths", ">i4"),
        ("own_lengths", ">i4"),
        ("record_counts", ">i4"),
    ]
)


def join_chunks(chunks: Mapping[bytes, Chunk]) -> Pending:
    """Make arrays of chunks by key."""
    order = sorted(chunks, key=lambda key: chunks[key].config)
    chosen = [chunks[key] for key in order]
    head = np.frombuffer(b"".join([chunk.head for chunk in chosen]), HEAD)
    ids = np.frombuffer(b"".join(order), KEY)["chunk_ids"].astype(np.int64)
    others = (head[name].astype(type_) for name, type_ in [*COLUMN_TYPES.items()][1:])
    records = np.frombuffer(b"".join([chunk.records for chunk in chosen]), RECORD)
    pending = Pending(  # copies: the records themselves are not kept twice
        rows=ChunkRows(ids, *others),
        terms=records["term"].astype(np.int64),
        ordinals=ordinals_of(head["record_counts"]),
        counts=records["counts"].copy(),
        collection_ids={chunk.collection_id for chunk in chosen},
    )
    start = 0
    for config, group in groupby(chunk.config for chunk in chosen):
        end = start + len(list(group))
        pending.ranges[config] = (start, end)
        start = end
    return pending


def pending_postings(
    pending: Pending, terms: Sequence[int], start: int, end: int
) -> tuple[list[Pair], Integers]:
    """Return each term's (rows, codes) among the chunks start to end, and their frequencies.

    Codes are places in these, which are the occurrences in title, headings and body, the chunk's
    own and repeated ones.
    """
    kept = pending.places
    postings: list[Pair] = []
    places: list[Integers] = [np.empty(0, np.intp)]
    first = 0
    for term in terms:
        here = kept.get(term)
        if here is None:
            found = np.flatnonzero(pending.terms == term)
            here = keep_value(kept, term, found, MOST_PLACES)
        rows = pending.ordinals[here]
        if start > 0 or end < len(pending.rows):
            within = (rows >= start) & (rows < end)
            here, rows = here[within], rows[within]
        postings.append((rows, np.arange(first, first + len(rows))))
        places.append(here)
        first += len(rows)
    return postings, pending.counts[np.concatenate(places)]
