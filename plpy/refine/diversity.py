"""Maximal marginal relevance: relevant, and unlike what was chosen before."""

import json
from collections.abc import Callable, Mapping, Sequence
from math import fsum, sqrt
from operator import mul
from typing import Any

from pgblend.plpy.settings.catalog import Mmr

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]


def mmr_select(
    scores: Sequence[float],
    vectors: Sequence[Any],
    relevance: float,
    pool: int,
    most: int | None,
    check_interrupts: Callable[[], object] = lambda: None,
) -> list[tuple[int, float, float | None]]:
    """Choose from the `pool` best items, one after the other, the one with the greatest objective.

    The objective is relevance · score - (1 - relevance) · the largest cosine to any item chosen
    before, which for the first is 0 (Carbonell and Goldstein 1998). Relevance is S4's lambda, 0.7,
    and its pool is 50. A vector is numbers, or text such as [1,2]; a missing one (None, or all 0)
    has similarity 0 to every other. Cosines are rounded to 12 decimals, so that no server's way of
    adding decides; ties go to the item that comes first.

    Return (index, objective, largest cosine) of each in the order chosen. Then come the items
    outside the pool, by score, as if nothing were chosen before them: their cosine is None, as the
    first one's. `most` cuts the list and changes nothing else. `check_interrupts` is called at each
    step; whatever it raises ends the choice.
    """
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    most = len(order) if most is None else most
    inside = sorted(order[:pool])
    units = _unit_rows([vectors[index] for index in inside], check_interrupts)
    nearest = [-1.0] * len(inside)
    waiting = list(range(len(inside)))
    chosen: list[tuple[int, float, float | None]] = []
    while waiting and len(chosen) < most:
        check_interrupts()
        objectives = [
            relevance * scores[inside[row]] - (1 - relevance) * (nearest[row] if chosen else 0.0)
            for row in waiting
        ]
        best = objectives.index(max(objectives))
        row = waiting.pop(best)
        chosen.append((inside[row], objectives[best], nearest[row] if chosen else None))
        nearest = list(map(max, nearest, _cosines(units, row)))
    outside = [(index, relevance * scores[index], None) for index in order[pool:]]
    return (chosen + outside)[:most]


def _unit_rows(vectors: Sequence[Any], check_interrupts: Callable[[], object]) -> Any:
    """Return vectors of length 1 as rows; a missing one is all 0."""
    lists = []
    for vector in vectors:
        check_interrupts()
        lists.append(json.loads(vector) if isinstance(vector, str) else vector)
    zero = [0.0] * max((len(vector) for vector in lists if vector is not None), default=0)
    if np is not None and lists:
        rows = np.array([zero if vector is None else vector for vector in lists], np.float64)
        lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        return rows / np.where(lengths > 0, lengths, 1)
    return [_unit(zero if vector is None else vector) for vector in lists]


def _unit(vector: Sequence[float]) -> list[float]:
    length = sqrt(fsum(map(mul, vector, vector))) or 1.0
    return [value / length for value in vector]


def _cosines(units: Any, row: int) -> list[float]:
    """Return the cosine of a row to every row."""
    if np is not None:
        return [round(value, 12) for value in (units @ units[row]).tolist()]
    return [round(fsum(map(mul, unit, units[row])), 12) for unit in units]


def diverse_items(
    items: Sequence[int],
    scores: Sequence[float],
    chunk_ids: Sequence[int],
    mmr: Mmr,
    vectors_of: Callable[[Sequence[int]], Mapping[int, str]],
) -> list[int]:
    """Return the items in the order that MMR chooses them; `scores` are theirs.

    `mmr` is the setting, `chunk_ids` those of all items, and `vectors_of` gives vectors of chunk
    ids.
    """
    vectors = vectors_of([chunk_ids[item] for item in items[: mmr["pool"]]])
    own = [vectors.get(chunk_ids[item]) for item in items]
    chosen = mmr_select(list(scores), own, mmr["lambda"], mmr["pool"], None)
    return [items[index] for index, _, _ in chosen]
