"""Which segments a seal merges."""

from collections.abc import Sequence

FANOUT = 4
CAPACITY = 65_536
DEAD_SHARE = 0.2


def choose_merge(sizes: Sequence[int], live: Sequence[int], pending: int) -> list[int]:
    """Return the places of the segments to merge with `pending` new rows into one.

    Sizes fall into tiers, each four times the one below; a tier is merged when it would hold four
    segments, and the result may fill the next. A segment with more than a fifth of its rows dead is
    merged as well. The merged segment holds at most 65,536 live rows.
    """
    merged: list[int] = []
    total = pending
    by_size = sorted(range(len(sizes)), key=lambda place: live[place])
    for place in by_size:
        if live[place] < (1 - DEAD_SHARE) * sizes[place] and total + live[place] <= CAPACITY:
            merged.append(place)
            total += live[place]
    while True:
        mates = [
            place for place in by_size if place not in merged and tier(live[place]) <= tier(total)
        ]
        if len(mates) < FANOUT - 1 or total + live[mates[0]] > CAPACITY:
            return sorted(merged)
        for place in mates:
            if total + live[place] <= CAPACITY:
                merged.append(place)
                total += live[place]


def tier(rows: int) -> int:
    """Return the tier of a size: 0 up to 1,024 rows, then one for each factor of four."""
    result, limit = 0, 1024
    while rows > limit:
        result, limit = result + 1, limit * FANOUT
    return result
