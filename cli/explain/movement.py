"""Geometry of the picture of movement: a column for each list, a line for each result.

Ranks on the page stand one row apart, so that the last column lines up with a list of the results.
Ranks above and below it are drawn closer together (by their logarithm), and lists that lack a
result send its line along the bottom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

from pgblend.cli.explain.figures import label
from pgblend.cli.explain.trace import ARMS, Result, Trace

MOST_LINES = 50
_ZONE_GAP = 26.0


@dataclass(frozen=True)
class Column:
    """A list that results pass through, and where it stands."""

    name: str
    label: str
    x: float


@dataclass(frozen=True)
class Dot:
    """A result's place in one column; `rank` is None where the list lacks it."""

    x: float
    y: float
    rank: int | None


@dataclass(frozen=True)
class Line:
    """A result's way: solid between lists that have it, dashed around those that lack it."""

    result: Result
    solid: str
    dashed: str
    dots: list[Dot]
    hue: int


@dataclass(frozen=True)
class Movement:
    """The whole picture, in pixels; `list_top` is where the first row of the page begins."""

    width: float
    height: float
    list_top: float
    list_bottom: float
    row: float
    radius: float
    lacking_y: float | None
    page_end: float | None  # where the page ends, if anything lies below it
    arms_end: float  # where the arms' columns end
    columns: list[Column]
    lines: list[Line]


@dataclass(frozen=True)
class Layout:
    """Sizes in pixels."""

    width: float
    margin: float
    header: float
    row: float
    radius: float


WIDE = Layout(width=640, margin=34, header=50, row=46, radius=13)
SLIM = Layout(width=336, margin=20, header=46, row=38, radius=11)


def draw_movement(trace: Trace, layout: Layout) -> Movement:
    """Draw the first results of a trace, at most `MOST_LINES`."""
    results = trace.results[:MOST_LINES]
    names = trace.columns if results else []
    step = (layout.width - 2 * layout.margin) / max(len(names) - 1, 1)
    columns = [
        Column(name, label(name), layout.margin + place * step) for place, name in enumerate(names)
    ]
    ranks = [[result.rank_in(name) for result in results] for name in names]
    first = results[0].rank if results else 1
    last = results[-1].rank if results else 1
    scale = _Scale(first, last, ranks, layout)
    heights = [scale.heights(column) for column in ranks]
    lines = []
    for place, result in enumerate(results):
        dots = [
            Dot(column.x, heights[number][place], ranks[number][place])
            for number, column in enumerate(columns)
        ]
        shade = hue(place, len(results))
        lines.append(Line(result, _path(dots, True), _path(dots, False), dots, shade))
    return Movement(
        width=layout.width,
        height=scale.bottom,
        list_top=scale.list_top,
        list_bottom=scale.list_bottom,
        row=layout.row,
        radius=layout.radius,
        lacking_y=scale.lacking_y,
        page_end=scale.page_end,
        arms_end=layout.margin + (sum(name in ARMS for name in names) - 0.5) * step,
        columns=columns,
        lines=lines,
    )


class _Scale:
    """Heights of ranks: three zones, above the page, the page, below it, and one for no rank."""

    def __init__(
        self, first: int, last: int, ranks: Sequence[Sequence[int | None]], layout: Layout
    ) -> None:
        self._first, self._last = first, last
        self._row, self._apart = layout.row, layout.radius * 2 + 3
        known = [[rank for rank in column if rank is not None] for column in ranks]
        above = max((sum(rank < first for rank in column) for column in known), default=0)
        below = max((sum(rank > last for rank in column) for column in known), default=0)
        lacking = any(None in column for column in ranks)
        self._deepest = max((rank for column in known for rank in column), default=last)

        self._top = layout.header
        self._above = above * self._apart
        self.list_top = self._top + (self._above + _ZONE_GAP if above else 0)
        self.list_bottom = self.list_top + (last - first + 1) * layout.row
        self._below_top = self.list_bottom + _ZONE_GAP + layout.radius
        self._below = max(below * self._apart, 4 * self._apart) if below else 0.0
        end = self._below_top + self._below if below else self.list_bottom
        self.page_end = self.list_bottom + _ZONE_GAP / 2 if below else None
        self.lacking_y = end + _ZONE_GAP if lacking else None
        self.bottom = (self.lacking_y or end) + layout.radius + 4

    def heights(self, ranks: Sequence[int | None]) -> list[float]:
        """Place the ranks of one column; those off the page are pushed apart."""
        heights = [self._height(rank) for rank in ranks]
        above = [place for place, rank in enumerate(ranks) if rank and rank < self._first]
        below = [place for place, rank in enumerate(ranks) if rank and rank > self._last]
        self._spread(heights, above, self.list_top - _ZONE_GAP)
        self._spread(heights, below, self._below_top + self._below)
        return heights

    def _height(self, rank: int | None) -> float:
        if rank is None:
            return self.lacking_y or 0
        if rank < self._first:
            return self._top + self._above * (rank - 1) / max(self._first - 1, 1)
        if rank > self._last:
            depth = log(rank / self._last) / log(self._deepest / self._last)
            return self._below_top + (self._below - self._apart) * depth
        return self.list_top + (rank - self._first + 0.5) * self._row

    def _spread(self, heights: list[float], places: list[int], lowest: float) -> None:
        """Move the dots at these places until none covers another, keeping their order."""
        places.sort(key=lambda place: heights[place])
        for upper, lower in pairwise(places):
            heights[lower] = max(heights[lower], heights[upper] + self._apart)
        for place in reversed(places):
            heights[place] = min(heights[place], lowest)
            lowest = heights[place] - self._apart


def _path(dots: Sequence[Dot], solid: bool) -> str:
    """Draw the curves between lists that both have the result, or the others."""
    parts: list[str] = []
    end: Dot | None = None
    for left, right in pairwise(dots):
        if (left.rank is not None and right.rank is not None) is not solid:
            continue
        if left is not end:
            parts.append(f"M{left.x:.1f},{left.y:.1f}")
        bend = (left.x + right.x) / 2
        parts.append(
            f"C{bend:.1f},{left.y:.1f} {bend:.1f},{right.y:.1f} {right.x:.1f},{right.y:.1f}"
        )
        end = right
    return " ".join(parts)


def hue(place: int, count: int) -> int:
    """Go from violet for the first result to green for the last."""
    return round(292 - 150 * place / max(count - 1, 1))
