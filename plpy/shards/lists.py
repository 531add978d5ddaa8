"""Lists of candidates of all shards, asked for by share and merged."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import comb
from typing import Any

from pgblend.plpy.ports import CandidateList

ONE_OF = 10_000  # searches


@cache
def share_of(depth: int, shards: int) -> int:
    """Return how many of the best `depth` one shard holds at most, but in ONE_OF searches.

    Documents are spread over `shards` by a hash, so the number is binomial.
    """
    if shards == 1 or depth > 1000:
        return depth
    at_most = 0
    rare = ONE_OF * shards
    for count in range(depth + 1):
        at_most += comb(depth, count) * (shards - 1) ** (depth - count)
        if at_most * rare >= (rare - 1) * shards**depth:
            return count
    return depth


Key = tuple[float, int, int]


def keys(found: CandidateList) -> list[Key]:
    """Return by what candidates are ordered."""
    columns = found.scores, found.document_ids, found.chunk_indexes
    return [(-score, document, index) for score, document, index in zip(*columns, strict=True)]


def merged_lists(lists: Mapping[int, CandidateList], depth: int) -> CandidateList:
    """Return the best of all shards."""
    has_parts = any(one.parts for one in lists.values())
    rows: list[tuple[Any, ...]] = []
    for one in lists.values():
        parts = one.parts or [0] * len(one.scores)
        rows += zip(keys(one), one.chunk_ids, one.scores, parts, strict=True)
    rows.sort(key=lambda row: row[0])
    best = rows[:depth]
    perfect = [one.perfect for one in lists.values() if one.perfect is not None]
    return CandidateList(
        [row[1] for row in best],
        [row[0][1] for row in best],
        [row[0][2] for row in best],
        [row[2] for row in best],
        [row[3] for row in best] if has_parts else [],
        max(perfect, default=None),
    )


def cut_short(
    lists: Mapping[int, CandidateList], merged: CandidateList, share: int, depth: int
) -> Sequence[int]:
    """Return the shards that may hold more of the best than the share that they were asked for."""
    last = keys(merged)[-1] if len(merged.scores) == depth else None
    return [
        number
        for number, one in lists.items()
        if share < depth and len(one.scores) >= share and (last is None or keys(one)[-1] <= last)
    ]
