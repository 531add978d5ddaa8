"""What clicks say of documents, once the place where each was shown is allowed for.

A row is opened where it was looked at and seems good (the position-based model: Craswell, Zoeter,
Taylor and Ramsey 2008). How often each rank is looked at, its propensity, is 1 / rank until the log
says more (Joachims, Swaminathan and Schnabel 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

RANKS = 10  # the log has so many rows of a search
LEAST_CLICKS = 3
LEAST_LOOKS = 10.0
DOUBT = 0.05
_PRIOR_ROWS = 50  # so many rows at a rank count as much as what is assumed of it
_BASE_LOOKS = 2.0  # a document is taken for an average one until it was looked at more often
_STEPS = 500

Floats = NDArray[np.float64]


class Shown(NamedTuple):
    """How often a document was shown at a rank for a query, and how often it was opened there."""

    query: str
    source_key: str
    rank: int
    shown: int
    clicked: int


class Propensity(NamedTuple):
    """How often a rank is looked at, the first always; `rows` that say so, 0: assumed."""

    rank: int
    propensity: float
    rows: int


@dataclass(frozen=True)
class Verdict:
    """What clicks say of a document for a query.

    `looks` are how often it was looked at, as far as one can tell. `grade` is 1 where it is opened
    more often than the average row that is looked at, 0 where less often, None without a verdict.
    """

    query: str
    source_key: str
    clicks: int
    looks: float
    grade: int | None


def propensities(rows: Sequence[Shown]) -> list[Propensity]:
    """Return how often each rank is looked at, the first one being 1.

    Only documents that one query showed at several ranks tell (Agarwal et al. 2019): expectation
    maximisation over these (Wang et al. 2018), where what is assumed counts as 50 rows.
    """
    ranks: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        ranks.setdefault((row.query, row.source_key), set()).add(row.rank)
    moved = {pair: place for place, pair in enumerate(p for p in ranks if len(ranks[p]) > 1)}
    shown, clicked = np.zeros((2, len(moved), RANKS))
    for row in rows:
        place = moved.get((row.query, row.source_key))
        if place is not None:
            shown[place, row.rank - 1] += row.shown
            clicked[place, row.rank - 1] += row.clicked
    looked = _looked_at(shown, clicked)
    counts = shown.sum(axis=0)
    return [
        Propensity(rank, float(chance), int(count))
        for rank, chance, count in zip(range(1, RANKS + 1), looked, counts, strict=True)
    ]


def _looked_at(shown: Floats, clicked: Floats) -> Floats:
    """Return the most likely propensities by rank; rows are pairs, columns ranks."""
    assumed = 1 / np.arange(1, RANKS + 1)
    looked, good = assumed.copy(), np.full(len(shown), 0.5)
    left = shown - clicked
    for _ in range(_STEPS):
        before = looked
        both = looked * good[:, None]
        nothing = np.maximum(1 - both, 1e-9)
        looks = clicked + left * (looked - both) / nothing
        likes = clicked + left * (good[:, None] - both) / nothing
        looked = (looks.sum(axis=0) + _PRIOR_ROWS * assumed) / (shown.sum(axis=0) + _PRIOR_ROWS)
        looked[0] = 1.0
        good = (likes.sum(axis=1) + 1) / (shown.sum(axis=1) + 2)
        if np.abs(looked - before).max() < 1e-6:
            break
    return looked


def verdicts(rows: Sequence[Shown], looked: Sequence[Propensity]) -> list[Verdict]:
    """Return what is to be said of each document for each query.

    Clicks over looks (inverse propensity by rank) is compared with that of all rows: a verdict
    needs 10 looks, that the 95 % credible bound is beyond the average, and for a good one 3 clicks.
    """
    of_pairs: dict[tuple[str, str], tuple[int, float]] = {}
    for row in rows:
        clicks, looks = of_pairs.get((row.query, row.source_key), (0, 0.0))
        looks += row.shown * looked[row.rank - 1].propensity
        of_pairs[row.query, row.source_key] = clicks + row.clicked, looks
    total = sum(looks for _, looks in of_pairs.values())
    average = min(sum(clicks for clicks, _ in of_pairs.values()) / total, 1.0) if total else 0.0
    return [
        Verdict(*pair, clicks, looks, _grade(clicks, looks, average))
        for pair, (clicks, looks) in of_pairs.items()
    ]


def _grade(clicks: int, looks: float, average: float) -> int | None:
    if looks < LEAST_LOOKS or not 0 < average < 1:
        return None
    liked = clicks + _BASE_LOOKS * average
    left = max(looks - clicks, 0.0) + _BASE_LOOKS * (1 - average)
    if clicks >= LEAST_CLICKS and beta.ppf(DOUBT, liked, left) > average:
        return 1
    return 0 if beta.ppf(1 - DOUBT, liked, left) < average else None
