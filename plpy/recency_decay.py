"""The decay of scores with age."""

from collections.abc import Sequence

MOST_HALVINGS = 1000.0  # a double has no smaller numbers than some halvings more give


def recency_decay(
    scores: Sequence[float], ages_days: Sequence[float | None], half_life_days: float | None
) -> list[float]:
    """Return score · 0.5^(age / half-life) of each item, in the order given.

    An age of one half-life halves a score, of two quarters it; scores in [0, 1] stay there. Ages
    below 0 (dates to come) count as 0, and so does None, an age that nobody knows. A half-life of
    None leaves all scores as they are.
    """
    if half_life_days is None:
        return list(scores)
    halvings = [min(max(age or 0.0, 0.0) / half_life_days, MOST_HALVINGS) for age in ages_days]
    return [score * 0.5**count for score, count in zip(scores, halvings, strict=True)]
