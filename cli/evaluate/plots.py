"""Pictures of runs, as SVG: metrics by set, recall curves, quality against latency."""

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgblend.cli.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pgblend.cli.evaluate.report import Run

DEPTH = 100
_WIDTH = 9.0  # inches; the page scales it


def draw_all(runs: Sequence["Run"]) -> Iterator[tuple[str, "Figure"]]:
    """Yield each picture with its title."""
    yield "nDCG@10 by judged set, with 95 % confidence", draw_metrics(runs)
    yield "Recall by rank", draw_recall(runs)
    yield "Quality against time of a search", draw_latency(runs)


def draw_metrics(runs: Sequence["Run"]) -> "Figure":
    """Draw a bar for each set and way to search it."""
    sets, ways = _sets(runs), _ways(runs)
    figure, axes = _figure(0.45 * len(sets) * (len(ways) + 1) / 2 + 1.2)
    height = 0.8 / len(ways)
    for place, way in enumerate(ways):
        for run in runs:
            if run.name != way:
                continue
            values = [query["metrics"]["nDCG@10"] for query in run.queries]
            y = sets.index(run.facts["judged_set"]) + place * height
            spread = 1.96 * float(np.std(values)) / len(values) ** 0.5
            axes.barh(y, np.mean(values), height * 0.9, xerr=spread, color=f"C{place % 10}")
    axes.set_yticks([y + 0.4 - height / 2 for y in range(len(sets))], sets)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("nDCG@10")
    _legend(axes, ways)
    return figure


def draw_recall(runs: Sequence["Run"]) -> "Figure":
    """Draw recall in the first 1 to 100 documents: a curve for each way, a panel for each set."""
    sets, ways = _sets(runs), _ways(runs)
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    figure = _new_figure(2.6 * rows + 0.4)
    for number, name in enumerate(sets):
        axes = figure.add_subplot(rows, columns, number + 1)
        for run in runs:
            if run.facts["judged_set"] == name:
                color = f"C{ways.index(run.name) % 10}"
                axes.plot(range(1, DEPTH + 1), recall_curve(run), color=color, linewidth=1.4)
        axes.set_title(name, fontsize=9)
        axes.set_xscale("log")
        axes.set_ylim(0, 1)
        if number == 0:
            _legend(axes, ways)
    figure.tight_layout()
    return figure


def draw_latency(runs: Sequence["Run"]) -> "Figure":
    """Draw each run as a point: median time of a search against nDCG@10."""
    ways = _ways(runs)
    figure, axes = _figure(3.6)
    for run in runs:
        metrics = run.facts["metrics"]
        axes.scatter(
            metrics["latency_p50_ms"],
            metrics["nDCG@10"],
            color=f"C{ways.index(run.name) % 10}",
            s=28,
        )
        axes.annotate(
            run.facts["judged_set"],
            (metrics["latency_p50_ms"], metrics["nDCG@10"]),
            fontsize=6,
            xytext=(3, 3),
            textcoords="offset points",
        )
    axes.set_xlabel("median time of a search, ms")
    axes.set_ylabel("nDCG@10")
    _legend(axes, ways)
    return figure


def recall_curve(run: "Run") -> list[float]:
    """Return the mean share of a query's relevant documents in the first 1, 2, … 100 found."""
    curves = []
    for query in run.queries:
        relevant = query["relevant"] or {}
        hits = [key in relevant for key in query["source_keys"][:DEPTH]]
        hits += [False] * (DEPTH - len(hits))
        curves.append(np.cumsum(hits) / max(len(relevant), 1))
    return [float(value) for value in np.mean(curves, axis=0)]


def as_svg(figure: "Figure") -> str:
    """Return a picture as an SVG element, the same for the same data."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _figure(height: float) -> tuple["Figure", "Axes"]:
    figure = _new_figure(height)
    return figure, figure.add_subplot()


def _new_figure(height: float) -> "Figure":
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError(
            "the report needs matplotlib", hint="install it: pip install 'pgblend[eval]'"
        ) from error
    matplotlib.rcParams["svg.hashsalt"] = "pgblend"  # the same ids in every page
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["text.parse_math"] = False  # a dollar sign in a name is one
    return Figure(figsize=(_WIDTH, height))


def _legend(axes: "Axes", ways: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=f"C{place % 10}", label=way) for place, way in enumerate(ways)
    ]
    axes.legend(handles=handles, fontsize=7, loc="best", framealpha=0.6)


def _sets(runs: Sequence["Run"]) -> list[str]:
    return list(dict.fromkeys(str(run.facts["judged_set"]) for run in runs))


def _ways(runs: Sequence["Run"]) -> list[str]:
    return list(dict.fromkeys(run.name for run in runs))
