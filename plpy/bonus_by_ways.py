"""Bonuses for passages that stand high."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.rank_bonus import rank_bonus


def bonus_by_ways(
    lists: Sequence[Mapping[str, Any]],
    ranks: Sequence[Sequence[int | None]],
    bonus: Mapping[str, Any],
    attainable: float,
) -> tuple[list[float], float]:
    """Return the bonus of each item and the largest possible one (rank_bonus).

    Words and vectors are two ways of searching; the lists of one way, the arms of words above all,
    count as one, in which an item has its best rank.
    """
    ways = [
        [
            of_ranks
            for of_list, of_ranks in zip(lists, ranks, strict=True)
            if of_list["by_vector"] == by_vector
        ]
        for by_vector in (False, True)
    ]
    best_ranks = [
        [
            min((rank for rank in of_item if rank is not None), default=None)
            for of_item in zip(*of_way, strict=True)
        ]
        for of_way in ways
        if of_way
    ]
    return rank_bonus(best_ranks, bonus, attainable)
