"""What a result's score is made of: a row for each arm, and for all else that adds or takes."""

from dataclasses import dataclass
from typing import Any

from pgblend.cli.explain.figures import label
from pgblend.cli.explain.trace import Result

# What is added to the arms' parts, in the order in which a search does it.
_LATER = (
    *("feedback", "bonus", "recency", "language", "boost", "decay"),
    *("fused", "rerank", "position", "pinned"),
)


@dataclass(frozen=True)
class ScoreRow:
    """An arm or another part of a score: where it has the result, and what it adds.

    `rank`, `raw` (the arm's own score), `weight` and `adds` are None where there is none. In a bar
    for a score of 1 it fills `width`, between what came before and after it, from `start` on.
    """

    name: str
    rank: int | None
    raw: float | None
    weight: float | None
    adds: float | None
    start: float
    width: float

    @property
    def label(self) -> str:
        """What people read."""
        return label(self.name)

    @property
    def family(self) -> str:
        """The arm whose colour it has: variants have that of their way of searching."""
        if self.name == "hyde":
            return "vector"
        return self.name.partition("_")[0]


def score_rows(result: Result) -> list[ScoreRow]:
    """List an arm or part a row, in an order in which they add up to the score."""
    parts, end = result.parts, 0.0
    names = list(dict.fromkeys([*result.arms, *sorted(parts)]))
    rows = []
    for name in sorted(
        names, key=lambda name: (*_LATER, name).index(name) if name in _LATER else -1
    ):
        arm: Any = result.arms.get(name, {})
        adds = parts.get(name, 0.0 if name in result.arms and name != "fused" else None)
        start, end = end, end + (adds or 0.0)
        left = min(max(min(start, end), 0.0), 1.0)
        width = min(max(start, end), 1.0) - left
        rows.append(
            ScoreRow(
                name,
                arm.get("rank"),
                arm.get("score"),
                arm.get("weight"),
                adds,
                left,
                max(width, 0),
            )
        )
    return rows
