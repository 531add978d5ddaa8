"""Chunks as rows of arrays, and a sample. (Importing numpy.typing would cost a session 25 ms.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgblend.plpy.base.ports import Sample
from pgblend.plpy.base.session import Row

Integers = np.ndarray[tuple[int, ...], np.dtype[np.integer]]
Floats = np.ndarray[tuple[int, ...], np.dtype[np.floating]]
Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Pair = tuple[Integers, Integers]  # rows and codes of one term's postings
ROW = np.int32  # the type of rows of a view


@dataclass(slots=True, eq=False, repr=False)
class ChunkRows:
    """Chunks, one a row; lengths are in lexeme occurrences, own ones without what repeats."""

    chunk_ids: Integers
    document_ids: Integers
    chunk_indexes: Integers
    lengths: Integers
    own_lengths: Integers

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def columns(self) -> tuple[Integers, ...]:
        """Return the columns, in the order of the fields."""
        return self.chunk_ids, self.document_ids, self.chunk_indexes, self.lengths, self.own_lengths

    def take(self, rows: Integers) -> ChunkRows:
        """Return some of the rows, in the order given."""
        return ChunkRows(*(column[rows] for column in self.columns()))


COLUMN_TYPES = {
    "chunk_ids": "i8",
    "document_ids": "i8",
    "chunk_indexes": "i4",
    "lengths": "i4",
    "own_lengths": "i4",
}
NO_ROWS = ChunkRows(*(np.empty(0, type_) for type_ in COLUMN_TYPES.values()))


def join_rows(parts: Sequence[ChunkRows]) -> ChunkRows:
    """Return the rows of all parts, one part after the other."""
    columns = zip(NO_ROWS.columns(), *(part.columns() for part in parts), strict=True)
    return ChunkRows(*(np.concatenate(each) for each in columns))


def stored_rows(stored: Row, byte_order: str) -> ChunkRows:
    """Return rows whose columns are stored as bytes: "<" little-endian, ">" big-endian."""
    return ChunkRows(
        *(
            np.frombuffer(stored[name], byte_order + type_).astype(type_, copy=False)
            for name, type_ in COLUMN_TYPES.items()
        )
    )


def find_rows(sorted_values: Integers, values: Integers) -> Integers:
    """Return the places in `sorted_values` that hold one of `values`; the others are left out."""
    places = np.searchsorted(sorted_values, values)
    found = places < len(sorted_values)
    found[found] = sorted_values[places[found]] == values[found]
    return places[found]


Ids = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Hashes = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
_LARGEST = (1 << 64) - 1
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))  # splitmix64


def sampled(lists: Sequence[Ids], most: int) -> tuple[list[Ids], int]:
    """Return the `most` ids of all lists whose hashes are least, by list, and the last hash.

    Where there are no more ids, all are returned, with the largest hash that there can be.

    The same ids give the same sample, in which none is likelier than another.
    """
    hashes = list(map(hashed, lists))
    together = np.concatenate(hashes)
    if len(together) <= most:
        return list(lists), _LARGEST
    last = np.partition(together, most - 1)[most - 1]
    return [ids[of_ids <= last] for ids, of_ids in zip(lists, hashes, strict=True)], int(last)


def merged_samples(samples: Sequence[Sample]) -> Sample:
    """Return the samples of disjoint sets as one, of the chunks that each would have taken.

    How many were looked at follows from the last hash, since hashes are spread evenly.
    """
    last = min((sample.last for sample in samples), default=_LARGEST)
    total = sum(sample.total for sample in samples)
    ids = np.array([one for sample in samples for one in sample.chunk_ids], np.int64)
    looked_at = max(round(total * (last / _LARGEST)), 1)
    return Sample(total, looked_at, ids[hashed(ids) <= np.uint64(last)].tolist(), last)


def hashed(ids: Ids) -> Hashes:
    """Return numbers of 64 bits that say nothing of the ids' order (Steele et al. 2014)."""
    mixed = ids.astype(np.uint64)
    for shift, factor in _STEPS:
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    return mixed
