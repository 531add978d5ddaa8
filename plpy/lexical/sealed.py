"""The rows of sealed segments as a session keeps them: in the fewest bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from mmap import mmap

import numpy as np

from pgblend.plpy.lexical.rows import ChunkRows, Integers


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


def own_pages(array: Integers) -> Integers:
    """Return a copy in pages of its own, the array itself where it takes no memory."""
    if not held_bytes([array]):
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


def narrow_ids(ids: Integers, steps: Sequence[int] = (1, 0)) -> Ids:
    """Return the ids of one segment, with the step that leaves least."""
    kept = []
    for step in steps:
        rest = ids - np.arange(len(ids)) if step else ids.copy()
        base = rest.min(initial=np.iinfo(np.int64).max)
        rest -= base
        kept.append(Ids(np.zeros(1, np.int64), np.array([base]), step, narrow(rest)))
        if not held_bytes([kept[-1].rest]):
            break
    return min(kept, key=lambda one: held_bytes([one.rest]))


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
    fitting = [type_ for type_ in (np.uint8, np.uint16, np.uint32) if most <= np.iinfo(type_).max]
    return numbers.astype(fitting[0] if fitting else np.int64)


def held_bytes(arrays: Sequence[np.ndarray]) -> int:
    """Return how much memory arrays take, each counted once."""
    different = {id(array): array for array in arrays}
    return sum(one.nbytes for one in different.values() if 0 not in one.strides)
