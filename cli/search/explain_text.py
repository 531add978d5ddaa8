"""The trace of a search as text for a terminal: stages, settings, and how each result moved."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pgblend.cli.base import output
from pgblend.cli.search.explain_trace import (
    ARMS,
    OTHER,
    WARM_UP,
    Result,
    ShownStage,
    Span,
    Trace,
    detail,
    label,
    milliseconds,
)

# What a result's score is made of: a row for each arm, and for all else that adds or takes.

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


_BAR_WIDTH = 16
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def render_text(trace: Trace) -> Group:
    """Return what rich prints; long lines are folded at the width that there is."""
    parts: list[RenderableType] = [_head(trace)]
    if trace.stages:
        parts.append(_stages(trace))
    if trace.changed_settings:
        parts += [Text("settings that are not the default", style="bold"), _settings(trace)]
    if trace.results:
        parts += [Text("how the results moved", style="bold"), Text(), _results(trace)]
    return Group(*parts)


def _head(trace: Trace) -> Text:
    facts = [
        ("profile", trace.profile),
        ("in an experiment against", trace.rival),
        ("mode", trace.mode),
        ("collections", ", ".join(trace.collections) or "none"),
    ]
    told = [f"{name} {output.one_line(value)}" for name, value in facts if value]
    told.append(milliseconds(trace.total_ms - trace.warm_up_ms))
    if trace.warm_up_ms:
        told[-1] += f" after {milliseconds(trace.warm_up_ms)} of warm up, once a session"
    head = Text(output.one_line(trace.query), style="bold")
    head.append("\n" + " · ".join(told), style="not bold dim")
    return head


def _stages(trace: Trace) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("what happened", overflow="fold")
    span = _drawn_span(trace)
    for stage in trace.stages:
        if stage.skipped:
            cells: tuple[str | Text, ...] = ("", "", "")
        else:
            rows = "" if stage.rows is None else str(stage.rows)
            cells = (milliseconds(stage.ms), _bar(stage, span), rows)
        table.add_row(stage.label, *cells, _events(stage), style="dim" if stage.skipped else "")
    return table


def _events(stage: ShownStage) -> Text:
    """Say what a stage did without, and the details that it gives."""
    events = Text()
    if stage.reason:
        what = "not run" if stage.skipped else "degraded"
        events.append(f"{what}: {stage.reason}", style="yellow" if stage.degraded else "")
    for name, value in stage.details.items():
        events.append(" · " if events else "")
        events.append(f"{label(name)} {detail(value)}", style="dim")
    return events


def _drawn_span(trace: Trace) -> Span:
    """Return from when to when bars are drawn: the search without its session's warm up."""
    drawn = [stage for stage in trace.stages if stage.name not in (WARM_UP, OTHER)]
    starts = [start for stage in drawn for start, _ in stage.spans]
    begin = min(starts, default=0.0)
    return begin, max(trace.total_ms, begin + sum(stage.ms for stage in drawn))


def _bar(stage: ShownStage, span: Span) -> Text:
    """Draw when a stage ran, along the time of the whole, and before it its model call.

    To an eighth of a character where it ended; without known times the bar begins at the left.
    """
    if stage.name == WARM_UP:
        return Text()
    origin, total = span[0], span[1] - span[0] or 1
    start, end = stage.spans[-1] if stage.spans else (origin, origin + stage.ms)
    asked, begun, ended = (
        min(max(time - origin, 0) / total, 1) * _BAR_WIDTH
        for time in (stage.call[0] if stage.call else start, start, end)
    )
    asked, begun = int(asked), int(begun)
    full, rest = divmod(max(round(ended * 8) - begun * 8, 0), 8)
    bar = Text(" " * asked)
    bar.append("░" * (begun - asked), style="blue")
    bar.append((_EIGHTHS[8] * full + _EIGHTHS[rest]).rstrip(), style="magenta")
    return bar


def _settings(trace: Trace) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("setting", overflow="fold")
    table.add_column("value", overflow="fold")
    table.add_column("set by", no_wrap=True)
    for setting in trace.changed_settings:
        table.add_row(setting.name, Text(output.one_line(setting.text)), setting.source)
    return table


def _results(trace: Trace) -> Table:
    """List the results: found by which arms, of what the score is made, and the way through."""
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for result in trace.results:
        told = Text(result.title, style="bold")
        for name, text in (
            ("of profile", ", ".join(result.profiles)),
            ("answers", result.answers),
            ("found by", _found_by(result)),
            ("parts", _parts(result)),
            ("places", _way(trace, result)),
        ):
            if text:
                told.append(f"\n{name} ", style="not bold dim")
                told.append(text, style="not bold")
        table.add_row(str(result.rank), f"{result.score:.3f}", told)
    return table


def _found_by(result: Result) -> str:
    """Name the arms with rank and raw score: 'lexical #1 (8.616)'."""
    return ", ".join(
        f"{name} #{arm['rank']} ({float(arm['score']):.4g})" for name, arm in result.arms.items()
    )


def _parts(result: Result) -> str:
    """Write the score as a sum: 'lexical 0.412 + vector 0.350 - recency 0.021'."""
    told = [(row.label, row.adds) for row in score_rows(result) if row.adds]
    terms = (f"{'+' if adds > 0 else '-'} {name} {abs(adds):.3f}" for name, adds in told)
    return " ".join(terms).removeprefix("+ ")


def _way(trace: Trace, result: Result) -> str:
    """Tell the places after the stages that changed them: 'fuse 17 → rerank 1 → blend 8'."""
    stops = [
        (name, result.rank_in(name))
        for name in trace.columns
        if name not in ARMS and result.rank_in(name) is not None
    ]
    moved = [stops[0], *(stop for before, stop in pairwise(stops) if stop[1] != before[1])]
    return " → ".join(f"{label(name)} {place}" for name, place in moved)
