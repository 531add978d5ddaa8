"""Fused sums brought to the scale that blending and diversity see."""

from collections.abc import Sequence


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
