"""Whether one run is better than another, or chance: paired tests over the same queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000
# The same runs always give the same answer.
_SEED = 20091


@dataclass(frozen=True)
class Paired:
    """Two means over the same queries, and what their difference is worth.

    `p_value` is two-sided, by randomisation; `low` to `high` holds the mean difference b - a with
    95 % confidence, by bootstrap.
    """

    queries: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p_value: float
    wins: int
    losses: int
    ties: int


def compare_paired(a: Sequence[float], b: Sequence[float]) -> Paired:
    """Compare two runs' values of one metric, query by query.

    The randomisation test swaps a query's two values at random: how often is the mean difference
    then at least as large? (Smucker, Allan and Carterette 2007.) No queries are a ValueError.
    """
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if first.size == 0 or first.shape != second.shape:
        raise ValueError(f"{first.size} and {second.size} values: expected as many, at least one")
    differences = second - first
    mean = float(differences.mean())
    random = np.random.default_rng(_SEED)
    size = differences.size
    as_large = 0
    means = np.empty(RESAMPLES)
    for index in range(RESAMPLES):
        swapped = differences @ random.choice((-1.0, 1.0), size) / size
        as_large += abs(swapped) >= abs(mean) - 1e-12
        means[index] = differences[random.integers(0, size, size)].mean()
    low, high = np.percentile(means, [2.5, 97.5])
    return Paired(
        queries=size,
        mean_a=float(first.mean()),
        mean_b=float(second.mean()),
        difference=mean,
        low=float(low),
        high=float(high),
        p_value=(as_large + 1) / (RESAMPLES + 1),
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
    )
