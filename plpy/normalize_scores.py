"""Scores of one list brought to a scale that other lists share."""

from collections.abc import Mapping, Sequence
from math import exp, fsum, sqrt


def normalize_scores(
    scores: Sequence[float | None], method: str, parameters: Mapping[str, float | None]
) -> list[float | None]:
    """Return the scores on a common scale; None stays None.

    - minmax: (score - low) / (high - low), clamped to [0, 1]; `low` and `high` are the list's own
      where they are not given (with bounds that hold for every query, scores can be compared
      between queries).
    - zscore: (score - mean) / standard deviation of the list; with `clamp` c, cut to ±c and brought
      to [0, 1] (c = 3: distribution-based score fusion).
    - logistic: 1 / (1 + exp(-(score - center) / scale)); `center` and `scale` are the list's mean
      and standard deviation where they are not given.

    A range, deviation or scale under `epsilon` (1e-9) tells nothing apart: minmax gives 1 from
    high - epsilon on and else 0, zscore the middle, and logistic takes epsilon for it.
    """
    present = [score for score in scores if score is not None]
    given = {key: value for key, value in parameters.items() if value is not None}
    epsilon = given.get("epsilon", 1e-9)
    if not present:
        return list(scores)
    if method == "minmax":
        low = given.get("low", min(present))
        high = given.get("high", max(present))
        return [None if s is None else _place_between(s, low, high, epsilon) for s in scores]
    mean = fsum(present) / len(present)
    deviation = sqrt(fsum((score - mean) ** 2 for score in present) / len(present))
    if method == "zscore":
        divisor = deviation if deviation >= epsilon else float("inf")
        standard = [None if s is None else (s - mean) / divisor for s in scores]
        if "clamp" not in given:
            return standard
        clamp = given["clamp"]
        return [None if z is None else _place_between(z, -clamp, clamp, 0) for z in standard]
    center = given.get("center", mean)
    scale = max(given.get("scale", deviation), epsilon)
    return [None if s is None else _logistic((s - center) / scale) for s in scores]


def _place_between(score: float, low: float, high: float, epsilon: float) -> float:
    if high - low < epsilon:
        return 1.0 if score >= high - epsilon else 0.0
    return min(max((score - low) / (high - low), 0.0), 1.0)


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x))  # neither overflows
