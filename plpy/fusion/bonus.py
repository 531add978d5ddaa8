"""Bonuses for passages that stand high."""

from collections.abc import Sequence

from pgblend.plpy.fusion.pool import ArmList
from pgblend.plpy.settings.catalog import Bonus


def rank_bonus(
    ranks: Sequence[Sequence[int | None]], bonus: Bonus, attainable: float
) -> tuple[list[float], float]:
    """Return each item's bonus and the largest that there is, to be added to the fused sum.

    `ranks[list][item]` as in fuse_ranks. Kinds:
    - none: nothing.
    - both_top: `amount` where at least two lists have the item in their first `depth` (S0: 0.1, 5).
      Give one list for each way of searching: the best rank over its variants.
    - tiers: of `tiers`, [{max_rank, amount}] by rising max_rank, the first that the item's best
      rank in any list reaches, once (S1: 0.05 to rank 1, 0.02 to rank 3).

    With `unit` attainable the amounts are fractions of `attainable`, what the sum without them can
    attain (fuse_ranks gives it); else (absolute) they count as they are.
    """
    rows = zip(*ranks, strict=True)
    unit = attainable if bonus.get("unit") == "attainable" else 1.0
    if bonus["kind"] == "both_top":
        depth, amount = bonus["depth"], bonus["amount"] * unit
        return [
            amount if sum(rank is not None and rank <= depth for rank in row) > 1 else 0.0
            for row in rows
        ], amount
    if bonus["kind"] == "tiers":
        tiers = [(tier["max_rank"], tier["amount"] * unit) for tier in bonus["tiers"]]
        best = (min((rank for rank in row if rank is not None), default=None) for row in rows)
        return [
            0.0
            if rank is None
            else next((amount for max_rank, amount in tiers if rank <= max_rank), 0.0)
            for rank in best
        ], max(amount for _, amount in tiers)
    return [0.0 for _ in rows], 0.0


def bonus_by_ways(
    lists: Sequence[ArmList],
    ranks: Sequence[Sequence[int | None]],
    bonus: Bonus,
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
            if of_list.by_vector == by_vector
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
