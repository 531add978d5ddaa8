"""Whether a series of measurements grows: a robust slope, and what chance makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import theilslopes

SETTLING = 1 / 3  # of a series, and so long at least: caches fill, programs load
SETTLING_SECONDS = 120.0
LEAST_SECONDS = 120.0
LEAST_SAMPLES = 20
CONFIDENCE = 0.99
BLOCKS = 60  # neighbouring samples are alike: fewer, of a median each, are nearer to independent


@dataclass(frozen=True)
class Growth:
    """What a series did after it had settled."""

    level: float  # median
    grown: float  # by the slope, over the time looked at
    surely: float  # the least that it has grown, with CONFIDENCE
    seconds: float

    def is_too_much(self, allowed: float, share: float) -> bool:
        """Tell whether it has surely grown by more than a constant and a share of its level."""
        return self.surely > max(allowed, share * self.level)


def growth(points: Sequence[tuple[float, float]]) -> Growth | None:
    """Return how a series grew; None where it is too short to tell."""
    if not points:
        return None
    first, last = points[0][0], points[-1][0]
    begin = first + max(SETTLING * (last - first), SETTLING_SECONDS)
    kept = [point for point in points if point[0] >= begin]
    seconds = last - begin
    if seconds < LEAST_SECONDS or len(kept) < LEAST_SAMPLES:
        return None
    blocks = np.array_split(np.array(kept), min(BLOCKS, len(kept)))
    times, values = np.array([np.median(block, axis=0) for block in blocks]).T
    slope, _, low, _ = theilslopes(values, times, CONFIDENCE)
    return Growth(float(np.median(values)), slope * seconds, low * seconds, seconds)
