"""Pictures of the benches' figures: quality against time, time and memory against size."""

from collections.abc import Iterable
from math import ceil
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from figures import DIMENSIONS, Row
from matplotlib import pyplot
from matplotlib.ticker import LogLocator, NullFormatter

MARKERS = "osD^vPX*<>"
GROWING = (
    ("growth.png", "p50", "median search, ms"),
    ("memory.png", "private_mb", "private memory of a session, MB"),
)
LEAST_SIZES = 3  # fewer show no growth


def draw(rows: Iterable[Row], folder: Path) -> list[str]:
    """Draw what there are figures for; return the names of the files."""
    rows = [row for row in rows if "p50" in row]
    drawn = []
    judged = [row for row in rows if "nDCG@10" in row]
    if judged:
        draw_quality(judged, folder / "quality.png")
        drawn.append("quality.png")
    growing = [
        row
        for row in rows
        if (row.get("text"), row.get("clients")) == ("short", 1)
        and row.get("dimensions", DIMENSIONS) == DIMENSIONS
    ]
    for name, figure, label in GROWING:
        kept = [row for row in growing if row.get(figure) is not None]
        if len({row["passages"] for row in kept}) >= LEAST_SIZES:
            draw_growth(kept, figure, label, folder / name)
            drawn.append(name)
    return drawn


def draw_quality(rows: list[Row], path: Path) -> None:
    """One panel a corpus: median time against nDCG@10; up and to the left is better."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    figure, panels = pyplot.subplots(1, len(cases), figsize=(4.2 * len(cases), 4), squeeze=False)
    for panel, case in zip(panels[0], cases, strict=True):
        for row in rows:
            if row["case"] == case:
                marker = MARKERS[systems.index(row["system"]) % len(MARKERS)]
                panel.plot(row["p50"], row["nDCG@10"], marker, ms=9, label=row["system"])
        panel.set(title=case, xscale="log", xlabel="median search, ms", ylabel="nDCG@10")
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))  # plain numbers, of which few
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.grid(alpha=0.3)
    save(figure, panels[0][0], path)


def draw_growth(rows: list[Row], figure_of: str, label: str, path: Path) -> None:
    """One figure by number of passages, a line a system, both by their logarithm."""
    figure, panel = pyplot.subplots(figsize=(6, 4))
    for place, system in enumerate(dict.fromkeys(row["system"] for row in rows)):
        points = [(row["passages"], row[figure_of]) for row in rows if row["system"] == system]
        panel.plot(*zip(*points, strict=True), f"{MARKERS[place % len(MARKERS)]}-", label=system)
    panel.set(xscale="log", yscale="log", xlabel="passages", ylabel=label)
    panel.grid(alpha=0.3)
    save(figure, panel, path)


def save(figure: Any, panel: Any, path: Path) -> None:
    """Write a picture with one legend below."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False)
    below = 0.05 * ceil(len(labels) / 3)
    figure.tight_layout(rect=(0, below, 1, 1))
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
