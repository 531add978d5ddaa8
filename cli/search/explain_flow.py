"""Geometry of the pipeline's picture: a box for each stage, ribbons as wide as the rows they carry.

It is worked out along a main axis (the way the rows go) and a cross axis. So the same layout gives
a picture that runs across, for wide screens, and one that runs down.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgblend.cli.search.explain_trace import ARMS, OTHER, WARM_UP, ShownStage, Trace

_THICKEST = 40.0
_THINNEST = 1.5


@dataclass(frozen=True)
class Box:
    """A stage, placed."""

    stage: ShownStage
    x: float
    y: float
    width: float
    height: float
    bar: float  # its share of the whole time, as a length


@dataclass(frozen=True)
class Ribbon:
    """Rows on their way from one stage to the next; `kind` is `query` or `rows`."""

    path: str
    kind: str
    arm: str


@dataclass(frozen=True)
class Flow:
    """The whole picture, in pixels."""

    width: float
    height: float
    boxes: list[Box]
    ribbons: list[Ribbon]


@dataclass(frozen=True)
class FlowLayout:
    """Sizes in pixels; `down` turns the picture."""

    down: bool
    main: float  # a box's size along the way
    cross: float  # and across it
    gap: float  # between boxes along the way: at least, and at most
    widest_gap: float
    length: float  # that the picture fills where the gaps allow it
    lane: float  # between boxes beside each other
    bar: float  # length of the whole time in a box
    idle: bool  # whether arms that did not run are drawn, too


WIDE = FlowLayout(
    down=False, main=86, cross=78, gap=22, widest_gap=96, length=1036, lane=14, bar=66, idle=True
)
TALL = FlowLayout(
    down=True, main=78, cross=78, gap=24, widest_gap=24, length=0, lane=8, bar=58, idle=False
)


def draw_flow(trace: Trace, layout: FlowLayout) -> Flow:
    """Place the stages of a trace and the ribbons between them."""
    levels = _levels(
        [stage for stage in trace.stages if layout.idle or stage.ran or stage.name not in ARMS]
    )
    most = max((stage.rows or 0 for stage in trace.stages), default=0)
    widest = max((len(level) for level in levels), default=1)
    across = widest * layout.cross + (widest - 1) * layout.lane
    gap = _gap(len(levels), layout)
    along = max(len(levels) * (layout.main + gap) - gap, 0)
    total = max(trace.total_ms, sum(stage.ms for stage in trace.stages)) or 1

    boxes: list[Box] = []
    ribbons: list[Ribbon] = []
    sources: list[tuple[float, float, float, str]] = []  # where ribbons start: main, cross, rows
    for place, level in enumerate(levels):
        start = place * (layout.main + gap)
        extent = len(level) * layout.cross + (len(level) - 1) * layout.lane
        edges = [
            (across - extent) / 2 + lane * (layout.cross + layout.lane)
            for lane in range(len(level))
        ]
        if level[0].name != OTHER:  # nothing goes there
            ribbons += _ribbons(sources, start, edges, level, layout, most)
        arriving = sum(source[2] for source in sources)
        sources = []
        for stage, edge in zip(level, edges, strict=True):
            boxes.append(_box(stage, start, edge, layout, total))
            leaving = _leaving(stage, arriving)
            if stage.skipped and stage.name not in ARMS:
                ribbons.append(_passing(start, edge, layout, leaving / most if most else 0))
            if leaving or stage.name not in ARMS:
                arm = stage.name if stage.name in ARMS else ""
                sources.append((start + layout.main, edge + layout.cross / 2, leaving, arm))
    width, height = (across, along) if layout.down else (along, across)
    return Flow(width, height, boxes, ribbons)


def _gap(levels: int, layout: FlowLayout) -> float:
    """Space boxes out to the length that there is, but not beyond the widest gap."""
    free = layout.length - levels * layout.main
    return min(max(free / max(levels - 1, 1), layout.gap), layout.widest_gap)


def _levels(stages: Sequence[ShownStage]) -> list[list[ShownStage]]:
    """Put the arms beside each other, where the first of them stands; all else one by one."""
    arms = sorted(
        (stage for stage in stages if stage.name in ARMS), key=lambda s: ARMS.index(s.name)
    )
    levels: list[list[ShownStage]] = []
    before = [stage for stage in stages if stage.name in (WARM_UP, "expand", "embed", "router")]
    levels += [[stage] for stage in before]
    levels += [arms] if arms else []
    levels += [[stage] for stage in stages if stage not in before and stage not in arms]
    return levels


def _leaving(stage: ShownStage, arriving: float) -> float:
    """Rows that go on from a stage: what came, where it did not run or only decides."""
    if stage.name in ARMS:
        return 0 if stage.skipped else stage.rows or 0
    if stage.skipped or stage.rows is None:
        return arriving
    return 0 if stage.name == "embed" else stage.rows


def _box(stage: ShownStage, start: float, edge: float, layout: FlowLayout, total: float) -> Box:
    bar = min(stage.ms / total, 1) * layout.bar
    if layout.down:
        return Box(stage, edge, start, layout.cross, layout.main, bar)
    return Box(stage, start, edge, layout.main, layout.cross, bar)


def _ribbons(
    sources: Sequence[tuple[float, float, float, str]],
    start: float,
    edges: Sequence[float],
    level: Sequence[ShownStage],
    layout: FlowLayout,
    most: int,
) -> list[Ribbon]:
    """Join the sources to the boxes of the next level; many to one arrive beside each other."""
    point = _down if layout.down else _across
    if len(level) > 1 or not any(rows for _, _, rows, _ in sources):
        return [
            Ribbon(_band(point, source[:2], (start, edge + layout.cross / 2), 1.5), "query", "")
            for source in sources
            for stage, edge in zip(level, edges, strict=True)
            if not (stage.skipped and stage.name in ARMS)
        ]
    arriving = [_thickness(rows / most) for _, _, rows, _ in sources]
    squeeze = min(1.0, (layout.cross - 8) / sum(arriving))
    target = edges[0] + layout.cross / 2 - sum(arriving) * squeeze / 2
    ribbons = []
    for (main, cross, _, arm), thick in zip(sources, arriving, strict=True):
        middle = target + thick * squeeze / 2
        path = _band(point, (main, cross), (start, middle), thick, thick * squeeze)
        ribbons.append(Ribbon(path, "rows", arm))
        target += thick * squeeze
    return ribbons


def _passing(start: float, edge: float, layout: FlowLayout, share: float) -> Ribbon:
    """Lead the rows straight through a stage that did not run."""
    point, middle = _down if layout.down else _across, edge + layout.cross / 2
    path = _band(point, (start, middle), (start + layout.main, middle), _thickness(share))
    return Ribbon(path, "rows", "")


def _thickness(share: float) -> float:
    return max(_THINNEST, _THICKEST * min(share, 1))


def _band(
    point: Callable[[float, float], str],
    start: tuple[float, float],
    end: tuple[float, float],
    thick: float,
    to_thick: float | None = None,
) -> str:
    """Outline a ribbon that bends smoothly from one edge to another; ends are (main, cross)."""
    (main, cross), (to_main, to_cross) = start, end
    half, to_half = thick / 2, (thick if to_thick is None else to_thick) / 2
    bend = (main + to_main) / 2
    return (
        f"M{point(main, cross - half)} C{point(bend, cross - half)} "
        f"{point(bend, to_cross - to_half)} {point(to_main, to_cross - to_half)} "
        f"L{point(to_main, to_cross + to_half)} C{point(bend, to_cross + to_half)} "
        f"{point(bend, cross + half)} {point(main, cross + half)}Z"
    )


def _across(main: float, cross: float) -> str:
    return f"{main:.1f},{cross:.1f}"


def _down(main: float, cross: float) -> str:
    return f"{cross:.1f},{main:.1f}"
