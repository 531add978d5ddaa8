"""A curve fitted on judged searches, and how well it holds on others."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pgblend.plpy.search.relevance import COVERAGES, NO_GATE, Curve, Gate, Signals, gains

SHOWN = 10  # rows of a search that a curve is fitted on
BINS = 10
RESAMPLES = 300
_SEED = 20091
_RIDGE = 1e-4  # keeps coefficients finite where all rows of a kind are relevant
Floats = NDArray[np.float64]


class JudgedSearch(NamedTuple):
    """A search of a judged query: its rows' scores, best first, and which are relevant."""

    key: str
    signals: Signals
    scores: Sequence[float]
    relevant: Sequence[bool]


class Bin(NamedTuple):
    """Rows of about one probability: its mean, and the share that is relevant."""

    predicted: float
    observed: float
    rows: int


def fit_curve(searches: Sequence[JudgedSearch], gate: Gate | None) -> Curve:
    """Return the curve of the greatest likelihood; `gate` is taken as it is."""
    rows = [row for one in searches for row in _features(one)]
    relevant = [float(row) for one in searches for row in one.relevant[:SHOWN]]
    passed = [
        gate.chance(one.signals) if gate else 1.0 for one in searches for _ in one.scores[:SHOWN]
    ]
    found = _likeliest(np.array(rows), np.array(relevant), np.array(passed))
    return Curve(*[*found, *(gate or NO_GATE)])


def fit_gate(answered: Sequence[Signals], others: Sequence[Signals]) -> Gate:
    """Return the gate that tells questions with an answer from others, both counting the same."""
    rows = [[1.0, one.cosine, one.words, one.known] for one in (*answered, *others)]
    kinds = np.array([1.0] * len(answered) + [0.0] * len(others))
    weights = np.where(kinds > 0, 0.5 / len(answered), 0.5 / len(others))
    return Gate(*_likeliest(np.array(rows), kinds, np.ones(len(rows)), weights))


def _likeliest(
    features: Floats, outcomes: Floats, passed: Floats, weights: Floats | None = None
) -> list[float]:
    """Return the weights of features, an intercept first, of which the others are not below 0."""
    shares = np.full(len(outcomes), 1 / len(outcomes)) if weights is None else weights

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        inner = 1 / (1 + np.exp(-np.clip(features @ coefficients, -500, 500)))
        chances = np.clip(passed * inner, 1e-9, 1 - 1e-9)
        unlikely = -shares @ (outcomes * np.log(chances) + (1 - outcomes) * np.log(1 - chances))
        slope = (chances - outcomes) / (chances * (1 - chances)) * passed * inner * (1 - inner)
        ridge = _RIDGE * np.array([0.0, *coefficients[1:]])
        return float(unlikely + ridge @ coefficients / 2), features.T @ (shares * slope) + ridge

    size = features.shape[1]
    bounds = [(None, None), *[(0.0, None)] * (size - 1)]
    found = minimize(loss, np.zeros(size), jac=True, bounds=bounds, method="L-BFGS-B")
    return [float(one) for one in found.x]


def _features(search: JudgedSearch) -> list[list[float]]:
    signals = search.signals
    return [
        [1.0, score, signals.lead(score), signals.cosine, signals.words]
        for score in search.scores[:SHOWN]
    ]


def reliability(curve: Curve, searches: Sequence[JudgedSearch]) -> list[Bin]:
    """Return the rows of searches in bins of as many, by rising probability."""
    chances, relevant, _ = _rows(curve, searches)
    return _bins(chances, relevant)


def _rows(curve: Curve, searches: Sequence[JudgedSearch]) -> tuple[Floats, Floats, list[int]]:
    chances = [curve.chances(one.scores[:SHOWN], one.signals) for one in searches]
    relevant = [one.relevant[:SHOWN] for one in searches]
    sizes = [len(each) for each in chances]
    return np.concatenate(chances), np.concatenate(relevant).astype(float), sizes


def _bins(chances: Floats, relevant: Floats) -> list[Bin]:
    order = np.argsort(chances, kind="stable")
    return [
        Bin(float(chances[part].mean()), float(relevant[part].mean()), len(part))
        for part in np.array_split(order, BINS)
        if len(part)
    ]


def _error(bins: Sequence[Bin]) -> float:
    total = sum(one.rows for one in bins)
    return sum(abs(one.predicted - one.observed) * one.rows for one in bins) / total


def calibration_error(curve: Curve, searches: Sequence[JudgedSearch]) -> tuple[float, float, float]:
    """Return the expected calibration error (Naeini 2015), and 95 % of it by bootstrap.

    Searches are resampled, whose rows depend on each other. Chance alone gives an error above 0.
    """
    chances, relevant, sizes = _rows(curve, searches)
    starts = np.cumsum([0, *sizes])
    random = np.random.default_rng(_SEED)
    errors = []
    for _ in range(RESAMPLES):
        drawn = random.integers(0, len(searches), len(searches))
        rows = np.concatenate([np.arange(starts[one], starts[one + 1]) for one in drawn])
        errors.append(_error(_bins(chances[rows], relevant[rows])))
    low, high = np.percentile(errors, [2.5, 97.5])
    return _error(_bins(chances, relevant)), float(low), float(high)


def coverage_thresholds(curve: Curve, searches: Sequence[JudgedSearch]) -> list[float | None]:
    """Return the gain at which lists end, by COVERAGES; None where no list is long enough.

    Split-conformal (Vovk 2005): of n searches that the curve was not fitted on, a list must reach
    the first relevant row of all but (n + 1) · (1 - coverage).
    """
    reached = sorted(first_gain(curve, one) for one in searches)
    thresholds: list[float | None] = []
    for percent in COVERAGES:
        missed = int((len(reached) + 1) * (100 - percent) / 100 + 1e-9)
        gain = reached[missed - 1] if missed else 0.0
        thresholds.append(gain if gain > 0 else None)
    return thresholds


def first_gain(curve: Curve, search: JudgedSearch) -> float:
    """Return the gain of the first relevant row; 0 where there is none."""
    of_rows = gains(curve.chances(search.scores, search.signals))
    return next((gain for gain, one in zip(of_rows, search.relevant, strict=True) if one), 0.0)
