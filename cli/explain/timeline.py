"""Geometry of the time axis: a row for each stage, a bar for when it ran.

Above a stage's own bar runs a thinner one while a model was at work for it: what ran side by side
stands above each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, takewhile
from math import floor, log10

from pgblend.cli.explain.figures import milliseconds
from pgblend.cli.explain.trace import Stage, Trace

_MOST_TICKS = 6
_HALF_LABEL = 24  # pixels
_NARROWEST = 1.5


@dataclass(frozen=True)
class Bar:
    """A time span, placed."""

    x: float
    width: float


@dataclass(frozen=True)
class Row:
    """A stage: its bars, and those of its model call; `label_x` is where its time is written."""

    stage: Stage
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
    rows: list[Row]
    ticks: list[Tick]


@dataclass(frozen=True)
class Layout:
    """Sizes in pixels: of the whole, of the names at the left, of a row."""

    width: float
    left: float
    row: float = 24
    top: float = 22
    time: float = 62  # room for a stage's time beside its bar


WIDE = Layout(width=1036, left=112)
SLIM = Layout(width=324, left=92)


def draw_timeline(trace: Trace, layout: Layout) -> Timeline:
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
            Row(
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


def _tick(time: float, x: float, layout: Layout) -> Tick:
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
