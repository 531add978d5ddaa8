"""Random chunks of numbered words, and what the lexical engine makes of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from pgblend.plpy.lexical.chunk_rows import ChunkRows
from pgblend.plpy.lexical.pending import Pending
from pgblend.plpy.lexical.segment import Source

OWN = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 40))
REPEATED = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 9))
FIELDS = st.tuples(OWN, REPEATED).map(lambda both: both[0] + both[1]).filter(any)
CHUNK = st.fixed_dictionaries(
    {
        "words": st.dictionaries(st.integers(1, 8), FIELDS, max_size=5),
        "place": st.sampled_from(["segment", "other segment", "pending"]),
        "fate": st.sampled_from(["alive", "alive", "alive", "dead", "buried"]),
    }
)
CHUNKS = st.lists(CHUNK, max_size=60)


Chunk = dict[str, Any]


def with_ids(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Number the chunks; document ids go against chunk ids, so that ties show."""
    return [
        {**chunk, "id": 10 + 3 * place, "document": 1000 - place // 2, "index": place % 2}
        for place, chunk in enumerate(chunks)
    ]


def rows_of(chunks: Sequence[Chunk]) -> ChunkRows:
    """Return chunks as rows."""
    return ChunkRows(
        np.array([chunk["id"] for chunk in chunks], np.int64),
        np.array([chunk["document"] for chunk in chunks], np.int64),
        np.array([chunk["index"] for chunk in chunks], np.int32),
        np.array([length(chunk) for chunk in chunks], np.int32),
        np.array([own_length(chunk) for chunk in chunks], np.int32),
    )


def as_source(chunks: Sequence[Chunk]) -> Source:
    """Return chunks as a source of merge_postings, as unpack_pending does."""
    pending = as_pending(chunks)
    return Source(
        rows=pending.rows,
        alive=np.ones(len(chunks), np.bool_),
        terms=pending.terms,
        ordinals=pending.ordinals,
        frequencies=np.array([packed(row) for row in pending.counts.tolist()], np.int64),
    )


def as_pending(chunks: Sequence[Chunk]) -> Pending:
    """Return chunks that wait."""
    postings = [
        (term, ordinal, *counts)
        for ordinal, chunk in enumerate(chunks)
        for term, counts in chunk["words"].items()
    ]
    terms, ordinals, *columns = np.array(postings, np.int64).reshape(-1, 8).T
    counts = np.column_stack(columns).astype("u1")
    return Pending(
        rows=rows_of(chunks),
        terms=terms,
        ordinals=ordinals,
        counts=counts,
    )


def length(chunk: Chunk) -> int:
    """Return how many occurrences of words a chunk has."""
    return sum(map(sum, chunk["words"].values()))


def own_length(chunk: Chunk) -> int:
    """Return how many of them do not repeat the chunk before."""
    return sum(sum(counts[:3]) for counts in chunk["words"].values())


def packed(counts: Sequence[int]) -> int:
    """Return six counts as the one number of a code book."""
    return int.from_bytes(bytes(counts), "big")
