"""Lists of candidates of all shards, asked for by share and merged."""

from collections.abc import Mapping, Sequence
from functools import cache
from math import comb
from operator import neg
from typing import Any

from pgblend.plpy.base.ports import CandidateList

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


def last_key(found: CandidateList) -> tuple[float, int, int]:
    """Return by what the last candidate is ordered."""
    return -found.scores[-1], found.document_ids[-1], found.chunk_indexes[-1]


def merged_lists(lists: Mapping[int, CandidateList], depth: int) -> CandidateList:
    """Return the best of all shards."""
    has_parts = any(one.parts for one in lists.values())
    rows: list[tuple[Any, ...]] = []
    for one in lists.values():
        columns = map(neg, one.scores), one.document_ids, one.chunk_indexes, one.chunk_ids
        parts = [one.parts or [0] * len(one.scores)] if has_parts else []
        rows += zip(*columns, *parts, strict=True)
    rows.sort()  # no two have the same place
    best = zip(*rows[:depth], strict=True) if rows else [()] * 4
    negated, document_ids, chunk_indexes, chunk_ids, *of_parts = map(list, best)
    perfect = [one.perfect for one in lists.values() if one.perfect is not None]
    return CandidateList(
        chunk_ids,
        document_ids,
        chunk_indexes,
        list(map(neg, negated)),
        of_parts[0] if of_parts else [],
        max(perfect, default=None),
    )


def cut_short(
    lists: Mapping[int, CandidateList], merged: CandidateList, share: int, depth: int
) -> Sequence[int]:
    """Return the shards that may hold more of the best than the share that they were asked for."""
    last = last_key(merged) if len(merged.scores) == depth else None
    return [
        number
        for number, one in lists.items()
        if share < depth and len(one.scores) >= share and (last is None or last_key(one) <= last)
    ]
