"""Chunks as rows of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgblend.plpy.lexical.arrays import Integers


@dataclass(slots=True)
class ChunkRows:
    """Chunks, one a row; lengths are in lexeme occurrences, own ones without what repeats."""

    chunk_ids: Integers
    document_ids: Integers
    chunk_indexes: Integers
    lengths: Integers
    own_lengths: Integers

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def take(self, rows: Integers) -> ChunkRows:
        """Return some of the rows, in the order given."""
        return ChunkRows(
            self.chunk_ids[rows],
            self.document_ids[rows],
            self.chunk_indexes[rows],
            self.lengths[rows],
            self.own_lengths[rows],
        )


NO_ROWS = ChunkRows(
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int32),
    np.empty(0, np.int32),
    np.empty(0, np.int32),
)


def join_rows(parts: Sequence[ChunkRows]) -> ChunkRows:
    """Return the rows of all parts, one part after the other."""
    parts = [NO_ROWS, *parts]
    return ChunkRows(
        np.concatenate([part.chunk_ids for part in parts]),
        np.concatenate([part.document_ids for part in parts]),
        np.concatenate([part.chunk_indexes for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.own_lengths for part in parts]),
    )


def find_rows(sorted_values: Integers, values: Integers) -> Integers:
    """Return the places in `sorted_values` that hold one of `values`; the others are left out."""
    places = np.searchsorted(sorted_values, values)
    found = places < len(sorted_values)
    found[found] = sorted_values[places[found]] == values[found]
    return places[found]
