"""Scores of lists on a scale that all share."""

from collections.abc import Mapping, Sequence
from math import exp, fsum, sqrt
from operator import add

from pgblend.plpy.base.catalog import Normalization
from pgblend.plpy.search.candidates import ArmList


def weighted_sums(scores: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """Return Σ weight · score of each item; `scores[list][item]`.

    Sums are rounded once, so the order of the lists changes no bit.
    """
    terms = [
        [weight * score for score in of_list]
        for of_list, weight in zip(scores, weights, strict=True)
    ]
    return list(map(add, *terms) if len(terms) == 2 else map(fsum, zip(*terms, strict=True)))


def score_range(of_list: ArmList) -> tuple[float, float]:
    """Return the lowest and highest possible score of a list: of cosines, or of BM25."""
    return (-1.0, 1.0) if of_list.by_vector else (0.0, of_list.found.perfect or 1.0)


def arm_normalization(
    normalization: Normalization, arm: str, low: float, high: float
) -> tuple[str, dict[str, float | None]]:
    """Return method and parameters for normalize_scores, from the setting normalization.

    `low` and `high` are the arm's lowest and highest possible scores (BM25: 0 and its perfect
    score; cosine: -1 and 1). The method theoretical takes the lowest possible and the list's best
    (Bruch, Gai and Ingber 2023). The method absolute takes both possible ones, so scores do not
    depend on the other items. A zscore is cut at 3 deviations, so that it lies in [0, 1].
    """
    method = normalization["method"]
    if method == "theoretical":
        return "minmax", {"low": low}
    if method == "absolute":
        return "minmax", {"low": low, "high": high}
    if method == "zscore":
        return "zscore", {"clamp": 3.0}
    if method == "logistic":
        center, scale = normalization.get("center", {}), normalization.get("scale", {})
        return "logistic", {"center": center.get(arm), "scale": scale.get(arm)}
    return "minmax", {}


# A query of so few words asks for them as they stand. What that adds to their list's weight is what
# the default profile's vectors weigh.
FEW_WORDS, OF_FEW_WORDS = 2, 2.0


def spread_scores(
    scores: Sequence[float],
    floor: float | None,
    depth: int,
    each_once: float = 0.0,
    asked: int = 0,
) -> tuple[list[float], float]:
    """Return a list's scores in [0, 1], in their order, and its spread.

    A score's place between the list's least and best is its normal score. A list that ends before
    `depth` has all that it could find. What it lacks has the score `floor` (BM25: 0), which is then
    the least. None stands for a list in which nothing lacks a score (cosines).

    The spread is in [0, 1]: how far the best stands above the 25th, to the power 1.25. With a floor
    it is a share of the best, since BM25 has no unit. Else it is a share of the 25th's distance,
    1 - cosine. A list's weight is multiplied by it. An arm that takes its candidates for nearly
    alike cannot tell which is better, and counts less. Multiplying all BM25 scores or all distances
    by one number changes nothing. So models whose cosines lie close together count as others do.

    A list of words tells more than its best apart: what has the words from what lacks them. That
    adds up to 1 to the spread, so far as the 25th has all that the best has (_likeness). A query of
    `asked` words, at most FEW_WORDS, adds OF_FEW_WORDS. A candidate's share of it is how far it has
    what the best has. Of a single word all have that. `each_once` is BM25 of all words, each once
    in a passage of average length.
    """
    falling = sorted(scores, reverse=True) or [0.0]
    least = falling[-1]
    if floor is not None and len(falling) < depth:
        least = min(least, floor)
    width = falling[0] - least
    normal = [(score - least) / width for score in scores] if width > 0 else [1.0] * len(scores)
    place = min(25, depth)
    best, other = falling[0], falling[min(place, len(falling)) - 1]
    if floor is None:
        return normal, _spread(best, other, 1 - other)
    if len(falling) < place:
        other = min(other, floor)
    spread = _spread(best, other, abs(best))
    is_asked = 0 < asked <= FEW_WORDS and best > floor
    like = OF_FEW_WORDS if is_asked else _likeness(best, other, each_once)
    whole = spread + like
    if like == 0 or whole == spread:
        return normal, spread
    has = [1.0 if asked == 1 else _eighth_power(max(score, 0.0) / best) for score in scores]
    both = zip(normal, has, strict=True)
    return [(spread * one + like * share) / whole for one, share in both], whole


def _spread(best: float, other: float, whole: float) -> float:
    """Return the share that the difference has of the whole, to the power 1.25.

    By roots, which are the same everywhere.
    """
    width = best - other
    if width <= 0:
        return 0.0
    share = width / max(whole, width)
    return share * sqrt(sqrt(share))


def _likeness(best: float, other: float, each_once: float) -> float:
    """Return in [0, 1] how far a candidate has all words of the query that the best has.

    It has them where it scores about as much, if the best has more than a part of the words. That
    is half of what all would give, since words count less in a long passage. The eighth power
    leaves alone what scores less: in prose, passages that have other words.
    """
    if min(best, other, each_once) <= 0:
        return 0.0
    return _eighth_power(other / best * min(1.0, 2 * best / each_once))


def _eighth_power(share: float) -> float:
    for _ in range(3):
        share *= share
    return share


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

    A range, deviation or scale under `epsilon` (1e-9) tells nothing apart. Then minmax gives 1 from
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


def comparable_scores(
    of_list: ArmList, normalization: Normalization, depth: int, k1: float
) -> tuple[list[float], float]:
    """Return the list's scores in [0, 1], in their order, and a factor for its weight.

    `normalization` is the setting. By spread, the factor is what spread_scores says, and `depth` is
    how many candidates each arm was asked for. Else the factor is 1. `k1` is BM25's.
    """
    scores = of_list.found.scores
    if normalization["method"] == "spread":
        if of_list.by_vector:
            return spread_scores(scores, None, depth)
        each_once = (of_list.found.perfect or 0.0) / (k1 + 1)
        return spread_scores(scores, 0.0, depth, each_once, of_list.asked)
    method = arm_normalization(normalization, of_list.kind, *score_range(of_list))
    return [one for one in normalize_scores(scores, *method) if one is not None], 1.0


def convex_fusion(scores: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """Return Σ weight · score / Σ weight of each item, in [0, 1] where the scores are.

    `scores[list][item]` are normalised (normalize_scores), 0 where the list lacks the item. Weights
    that are all 0 give 0. Bruch, Gai and Ingber 2023.
    """
    total = fsum(weights)
    if total == 0:
        return [0.0] * (len(scores[0]) if scores else 0)
    return [value / total for value in weighted_sums(scores, weights)]


def scale_fused(fused: Sequence[float], attainable: float, scale: str) -> list[float]:
    """Return the sums on a scale: attainable, minmax or raw.

    attainable: divided by what a perfect match would get, so in [0, 1] and independent of the other
    items. minmax: (sum - lowest) / (highest - lowest), 1 for all where they do not differ (S1).
    raw: as they are (S0, S2).
    """
    if scale == "raw" or not fused:
        return list(fused)
    if scale == "minmax":
        low, high = min(fused), max(fused)
        return [1.0 if high - low < 1e-9 else (value - low) / (high - low) for value in fused]
    if attainable <= 0:
        return [0.0] * len(fused)
    shares = [value / attainable for value in fused]
    return shares if max(shares) <= 1 else [min(share, 1.0) for share in shares]
