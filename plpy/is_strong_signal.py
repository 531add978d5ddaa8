"""Whether the words alone have found the answer, so that expanding the query would be lost time."""

from collections.abc import Mapping, Sequence
from math import exp


def is_strong_signal(
    scores: Sequence[float], perfect: float, signal: Mapping[str, float]
) -> tuple[bool, list[float]]:
    """Return whether the best BM25 score is high and well above the second, and the best five.

    `scores` are BM25, best first. They are compared as shares of `perfect`, what no passage can
    reach; or, where `signal` has a `scale` above 0, as 1 / (1 + exp(-(score - center) / scale)). A
    strong one has at least `score`, and is at least `gap` above the second (0 where there is none).
    """
    center, scale = signal["center"], signal["scale"]
    if scale > 0:
        top = [1 / (1 + exp(min((center - score) / scale, 700))) for score in scores[:5]]
    else:
        top = [score / perfect for score in scores[:5]]
    if not top:
        return False, top
    gap = top[0] - (top[1] if len(top) > 1 else 0.0)
    return top[0] >= signal["score"] and gap >= signal["gap"], top
