"""One self-contained page about one search: it fetches nothing, and users' texts stay texts."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import count, pairwise, takewhile
from math import floor, log, log10

from pgblend.cli.base.pages import page_environment
from pgblend.cli.search import explain_flow
from pgblend.cli.search.explain_text import score_rows
from pgblend.cli.search.explain_trace import (
    ARMS,
    Result,
    ShownStage,
    Trace,
    detail,
    figure,
    label,
    milliseconds,
)

# Geometry of the time axis: a row for each stage, a bar for when it ran.
#
# Above a stage's own bar runs a thinner one while a model was at work for it. What ran side by side
# stands above each other.

_MOST_TICKS = 6
_HALF_LABEL = 24  # pixels
_NARROWEST = 1.5


@dataclass(frozen=True)
class Bar:
    """A time span, placed."""

    x: float
    width: float


@dataclass(frozen=True)
class TimesRow:
    """A stage: its bars, and those of its model call; `label_x` is where its time is written."""

    stage: ShownStage
    y: float
    bars: list[Bar]
    call: Bar | None
    label_x: float
    label_anchor: str


@dataclass(frozen=True)
class Tick:
    """A time on the axis; its label stands within the picture."""

    x: float
    label: str
    anchor: str


@dataclass(frozen=True)
class Timeline:
    """The whole picture, in pixels; bars begin at `left`, rows at `top`."""

    width: float
    height: float
    left: float
    top: float
    row: float
    rows: list[TimesRow]
    ticks: list[Tick]


@dataclass(frozen=True)
class TimelineLayout:
    """Sizes in pixels: of the whole, of the names at the left, of a row."""

    width: float
    left: float
    row: float = 24
    top: float = 22
    time: float = 62  # room for a stage's time beside its bar


TIMELINE_WIDE = TimelineLayout(width=1036, left=112)
TIMELINE_SLIM = TimelineLayout(width=324, left=92)


def draw_timeline(trace: Trace, layout: TimelineLayout) -> Timeline:
    """Place the stages that ran along the time; no rows where nobody noted when they did."""
    stages = [stage for stage in trace.stages if stage.spans]
    ends = [end for stage in stages for _, end in stage.spans]
    total = max(trace.total_ms, *ends) if ends else 0.0
    length = layout.width - layout.left
    scale = length / total if total else 0.0

    def bar(span: tuple[float, float]) -> Bar:
        width = max((span[1] - span[0]) * scale, _NARROWEST)
        return Bar(min(layout.left + span[0] * scale, layout.width - width), width)

    rows = []
    for place, stage in enumerate(stages):
        bars = [bar(span) for span in stage.spans]
        call = bar(stage.call) if stage.call else None
        end = bars[-1].x + bars[-1].width
        fits = end + layout.time <= layout.width
        first = min([*bars, *([call] if call else [])], key=lambda one: one.x)
        rows.append(
            TimesRow(
                stage,
                layout.top + place * layout.row,
                bars,
                call,
                end + 6 if fits else first.x - 6,
                "start" if fits else "end",
            )
        )
    ticks = [_tick(time, layout.left + time * scale, layout) for time in _ticks(total, length)]
    height = layout.top + len(rows) * layout.row
    return Timeline(
        layout.width, height, layout.left, layout.top, layout.row, rows, ticks if rows else []
    )


def _tick(time: float, x: float, layout: TimelineLayout) -> Tick:
    """Return a tick, its label beside its line at an end of the axis, else around it."""
    at_end = x + _HALF_LABEL > layout.width
    return Tick(x, milliseconds(time), "start" if time == 0 else "end" if at_end else "middle")


def _ticks(total: float, length: float) -> Iterator[float]:
    """Yield round times from 0 on, so far apart that their labels have room."""
    most = min(_MOST_TICKS, max(int(length / 70), 2))
    if total <= 0:
        return iter(())
    rough = total / most
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return takewhile(lambda time: time <= total, (number * step for number in count()))


# Geometry of the picture of movement: a column for each list, a line for each result.
#
# Ranks on the page stand one row apart. So the last column lines up with a list of the results.
# Ranks above and below it are drawn closer together (by their logarithm). Lists that lack a result
# send its line along the bottom.

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
class TimesLayout:
    """Sizes in pixels."""

    width: float
    margin: float
    header: float
    row: float
    radius: float


WIDE = TimesLayout(width=640, margin=34, header=50, row=46, radius=13)
SLIM = TimesLayout(width=336, margin=20, header=46, row=38, radius=11)


def draw_movement(trace: Trace, layout: TimesLayout) -> Movement:
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
        self, first: int, last: int, ranks: Sequence[Sequence[int | None]], layout: TimesLayout
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


def render_page(trace: Trace) -> str:
    """Return the page as HTML."""
    from markupsafe import Markup

    environment = page_environment("pgblend.cli.search")
    environment.filters["ms"] = milliseconds
    environment.filters["label"] = label
    environment.filters["detail"] = detail
    environment.filters["figure"] = figure
    script = (files("pgblend.cli.search") / "templates" / "explain.js").read_text(encoding="utf-8")
    return environment.get_template("explain.html").render(
        trace=trace,
        flows={
            "wide": explain_flow.draw_flow(trace, explain_flow.WIDE),
            "tall": explain_flow.draw_flow(trace, explain_flow.TALL),
        },
        timelines={
            "wide": draw_timeline(trace, TIMELINE_WIDE),
            "slim": draw_timeline(trace, TIMELINE_SLIM),
        },
        movements={
            "wide": draw_movement(trace, WIDE),
            "slim": draw_movement(trace, SLIM),
        },
        most_lines=MOST_LINES,
        hue=hue,
        score_rows=score_rows,
        script=Markup(script),
        script_hash=_content_hash(script),
    )


def _content_hash(script: str) -> str:
    """Return the hash by which the page's policy lets this script run, and no other."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
