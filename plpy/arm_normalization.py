"""How one arm's scores are normalised for convex fusion."""

from collections.abc import Mapping
from typing import Any


def arm_normalization(
    normalization: Mapping[str, Any], arm: str, low: float, high: float
) -> tuple[str, dict[str, float | None]]:
    """Return method and parameters for normalize_scores, from the setting normalization.

    `low` and `high` are the arm's lowest and highest possible scores (BM25: 0 and its perfect
    score; cosine: -1 and 1). theoretical takes the lowest possible and the list's best (Bruch, Gai
    and Ingber 2023), absolute both possible ones, so that scores do not depend on the other items;
    zscore is cut at 3 deviations, so that it lies in [0, 1].
    """
    method = normalization["method"]
    if method == "theoretical":
        return "minmax", {"low": low}
    if method == "absolute":
        return "minmax", {"low": low, "high": high}
    if method == "zscore":
        return "zscore", {"clamp": 3.0}
    if method == "logistic":
        return "logistic", {key: normalization.get(key, {}).get(arm) for key in ("center", "scale")}
    return "minmax", {}
