"""Pictures of runs, as SVG in the colours of the page: metrics, recall curves, times."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from pgblend.cli.evaluate.report import Run

DEPTH = 100
_WIDTH = 9.0  # inches; the page scales it
_ROW = 0.24  # inches for a bar
# The page's colours, light and dark. matplotlib gets a stand-in for each: #0000 and its place.
_COLOURS = ("ink", "soft", "rule", "accent", "lexical", "vector", "graph", "document", "fuzzy")
_OF_WAYS = _COLOURS[3:]
_STYLE = {
    "svg.hashsalt": "pgblend",  # the same ids in every page
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar sign in a name is one
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9,
    "hatch.linewidth": 0.5,
}


def draw_all(runs: Sequence["Run"]) -> Iterator[tuple[str, str]]:
    """Yield each picture, as an SVG element, with its title."""
    for title, draw in (
        ("nDCG@10, with 95 % confidence", draw_metrics),
        ("Recall by rank", draw_recall),
        ("Time of a search: the median, and up to the 95th percentile", draw_latency),
    ):
        yield title, as_svg(draw, runs)
    if _calibrated(runs):
        yield (
            "Reliability: what relevance says, and what share is relevant",
            as_svg(draw_reliability, runs),
        )


def ways(runs: Sequence["Run"]) -> list[tuple[str, str]]:
    """Return the ways to search, each with its colour in the page."""
    return [(way, f"var(--{_of_way(place)})") for place, way in enumerate(_ways(runs))]


def draw_metrics(runs: Sequence["Run"]) -> Figure:
    """Draw a bar for each set and way to search it."""

    def bar(axes: Axes, run: "Run", y: float, colour: str) -> None:
        values = [query["metrics"]["nDCG@10"] for query in run.queries]
        mean = float(np.mean(values))
        spread = 1.96 * float(np.std(values)) / len(values) ** 0.5
        axes.barh(y, mean, 0.8, color=colour, xerr=spread, ecolor=_stand_in("soft"))
        _write(axes, mean + spread, y, f"{mean:.3f}")

    figure, axes = _by_set(runs, bar)
    axes.set_xlim(0, 1.08)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    return figure


def draw_recall(runs: Sequence["Run"]) -> Figure:
    """Draw recall in the first 1 to 100 documents: a curve for each way, a panel for each set."""
    sets, names = _sets(runs), _ways(runs)
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    figure = _new_figure(2.3 * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False, sharey=True).flat)
    for axes, name in zip(panels, sets, strict=False):
        for run in runs:
            if run.facts["judged_set"] == name:
                colour = _stand_in(_of_way(names.index(run.name)))
                axes.plot(range(1, DEPTH + 1), recall_curve(run), color=colour, linewidth=1.6)
        axes.set_title(_broken(name, 34), fontsize=9)
        axes.set_xscale("log")
        axes.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
        axes.minorticks_off()
        axes.set_ylim(0, 1)
    for axes in panels[len(sets) :]:
        axes.remove()
    return figure


def draw_latency(runs: Sequence["Run"]) -> Figure:
    """Draw a line for each set and way: from the median time of a search to the 95th percentile."""

    def line(axes: Axes, run: "Run", y: float, colour: str) -> None:
        median, late = (run.facts["metrics"][f"latency_p{share}_ms"] for share in (50, 95))
        axes.barh(y, late, 0.3, color=colour, alpha=0.45)
        axes.barh(y, median, 0.8, color=colour)
        _write(axes, max(median, late), y, f"{_time(median)} to {_time(late)} ms")

    figure, axes = _by_set(runs, line)
    most = max(run.facts["metrics"]["latency_p95_ms"] for run in runs)
    axes.set_xlim(0, max(most, 1e-3) * 1.25)
    axes.set_xlabel("milliseconds")
    return figure


def draw_reliability(runs: Sequence["Run"]) -> Figure:
    """Draw a panel for each calibrated set: bins of rows of the queries that were held back."""
    found = _calibrated(runs)
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    figure = _new_figure(2.9 * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, (name, figures) in zip(panels, found.items(), strict=False):
        bins = figures["reliability"]
        axes.plot([0, 1], [0, 1], color=_stand_in("rule"), linewidth=1)
        points = [one["predicted"] for one in bins], [one["observed"] for one in bins]
        axes.plot(*points, "o-", color=_stand_in("accent"), markersize=4, linewidth=1.2)
        error = f"error {figures['error']:.3f} ({figures['low']:.3f} to {figures['high']:.3f})"
        axes.set_title(f"{_broken(name, 34)}\n{error}", fontsize=9)
        axes.set_xlabel("relevance")
        axes.set_ylabel("share that is relevant")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_aspect("equal")
    for axes in panels[len(found) :]:
        axes.remove()
    return figure


def _calibrated(runs: Sequence["Run"]) -> dict[str, Any]:
    """Return the figures of the sets whose collection has a curve, by name."""
    found = {run.facts["judged_set"]: run.facts.get("calibration") for run in runs}
    return {name: one for name, one in found.items() if one and one["reliability"]}


def recall_curve(run: "Run") -> list[float]:
    """Return the mean share of a query's relevant documents in the first 1, 2, … 100 found."""
    curves = []
    for query in run.queries:
        relevant = query["relevant"] or {}
        hits = [key in relevant for key in query["source_keys"][:DEPTH]]
        hits += [False] * (DEPTH - len(hits))
        curves.append(np.cumsum(hits) / max(len(relevant), 1))
    return [float(value) for value in np.mean(curves, axis=0)]


def as_svg(draw: Callable[[Sequence["Run"]], Figure], runs: Sequence["Run"]) -> str:
    """Return a picture as an SVG element in the page's colours, the same for the same data."""
    text_colours = ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor")
    line_colours = ("axes.edgecolor", "xtick.color", "ytick.color")
    colours = dict.fromkeys(text_colours, _stand_in("ink")) | dict.fromkeys(
        line_colours, _stand_in("rule")
    )
    buffer = io.StringIO()
    with matplotlib.rc_context(_STYLE | colours):
        draw(runs).savefig(
            buffer, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None}
        )
    text = buffer.getvalue()
    # In tags alone: a name may look like a colour.
    return re.sub(r"<[^<>]*>", _in_page_colours, text[text.index("<svg") :])


def _in_page_colours(tag: re.Match[str]) -> str:
    return re.sub(
        r"(?<=[ :])#0000(0[0-8])(?=[;\"])",
        lambda found: f"var(--{_COLOURS[int(found[1])]})",
        tag[0],
    )


def _by_set(
    runs: Sequence["Run"], draw: Callable[[Axes, "Run", float, str], None]
) -> tuple[Figure, Axes]:
    """Draw the runs below each other, those of a set together under its name."""
    sets, names = _sets(runs), _ways(runs)
    figure = _new_figure(_ROW * (len(runs) + len(sets)) + 0.7)
    axes = figure.subplots()
    y = 0.0
    ticks: list[tuple[float, str]] = []
    for name in sets:
        of_set = [run for run in runs if run.facts["judged_set"] == name]
        ticks.append((y + (len(of_set) - 1) / 2, _broken(name, 24)))
        for run in of_set:
            draw(axes, run, y, _stand_in(_of_way(names.index(run.name))))
            y += 1
        y += 1
    axes.set_yticks([place for place, _ in ticks], [label for _, label in ticks])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(y - 1.4, -0.6)
    return figure, axes


def _write(axes: Axes, x: float, y: float, text: str) -> None:
    axes.annotate(
        text, (x, y), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8,
        color=_stand_in("soft"),
    )  # fmt: skip


def _new_figure(height: float) -> Figure:
    return Figure(figsize=(_WIDTH, height), layout="constrained")


def _stand_in(colour: str) -> str:
    return f"#0000{_COLOURS.index(colour):02x}"


def _of_way(place: int) -> str:
    return _OF_WAYS[place % len(_OF_WAYS)]


def _time(milliseconds: float) -> str:
    return f"{milliseconds:.0f}" if milliseconds >= 10 else f"{milliseconds:.1f}"


def _broken(name: str, width: int) -> str:
    """Break a long name into lines, within words where they are longer than a line."""
    from textwrap import wrap

    return "\n".join(wrap(name, width)) or name


def _sets(runs: Sequence["Run"]) -> list[str]:
    return list(dict.fromkeys(str(run.facts["judged_set"]) for run in runs))


def _ways(runs: Sequence["Run"]) -> list[str]:
    return list(dict.fromkeys(run.name for run in runs))
