"""The report of a run: a table, a picture, and what has grown."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot

from soak.findings import Findings
from soak.growth import Growth, growth
from soak.samples import LOGS, Sampler, Series


@dataclass(frozen=True)
class Watched:
    """Series of a kind, and how much each may grow: a constant, and a share of its level."""

    title: str
    unit: str
    series: Series
    allowed: float
    share: float
    least: float  # what is drawn and shown reaches this


def watched(sampler: Sampler) -> list[Watched]:
    """Return what a run watches."""
    return [
        Watched("Memory of its own", "MB", sampler.memory, 2, 0.03, 5),
        Watched("Memory with its part of what is shared", "MB", sampler.proportional, 16, 0.2, 5),
        Watched("Open files", "files", sampler.files, 3, 0.1, 1),
        Watched("Size of tables", "MB", sampler.sizes, 2, 0.2, 0.5),
        Watched("Counts", "", sampler.counts, 20, 1, 1),
    ]


def rows_of(kind: Watched) -> Iterator[tuple[str, Growth, str]]:
    """Yield each series that is long enough: name, what it did, and the verdict."""
    for name, points in sorted(kind.series.items()):
        found = growth(points)
        if found is None:
            continue
        if name in LOGS:
            yield name, found, "a log"
        else:
            grows = found.is_too_much(kind.allowed, kind.share)
            yield name, found, "GROWS" if grows else "steady"


def what_grows(kinds: list[Watched]) -> list[str]:
    """Return a line for each series that grows by too much."""
    return [
        f"{kind.title} of {name}: {found.grown:+.1f} {kind.unit} in {found.seconds:.0f} s"
        f" (at least {found.surely:+.1f}; level {found.level:.1f})"
        for kind in kinds
        for name, found, verdict in rows_of(kind)
        if verdict == "GROWS"
    ]


def write(folder: Path, seed: int, findings: Findings, kinds: list[Watched]) -> str:
    """Write report.md, samples.json and soak.png; return the report."""
    lines = [f"# Soak of {findings.now / 60:.1f} minutes, seed {seed}", ""]
    lines += counts("Done", "action", dict(findings.done))
    lines += counts("Errors beside a fault", "client", dict(findings.excused))
    lines += counts("Searches that went without something, no fault near", "", findings.degraded)
    lines += recoveries(findings)
    lines += [f"## Tried again: {len(findings.retried)}", ""]
    lines += [f"- {text}" for text in findings.retried] + [""]
    lines += [f"## Problems: {len(findings.problems)}", ""]
    lines += [f"- {text}" for text in findings.problems] + [""]
    for kind in kinds:
        lines += table(kind)
    text = "\n".join(lines)
    (folder / "report.md").write_text(text)
    samples = {kind.title: kind.series for kind in kinds}
    (folder / "samples.json").write_text(json.dumps(samples | {"faults": findings.faults}))
    draw(folder / "soak.png", findings, kinds)
    return text


def counts(title: str, name: str, values: dict[str, int]) -> list[str]:
    """Return a table of counts."""
    rows = [f"| {key} | {value:,} |" for key, value in sorted(values.items())]
    return [f"## {title}", "", f"| {name} | times |", "|---|---:|", *rows, ""]


def recoveries(findings: Findings) -> list[str]:
    """Return a table of faults, and how long clients waited until they were served again."""
    taken: dict[str, list[float]] = {}
    for name, begin, end in findings.faults:
        taken.setdefault(name, []).append(end - begin)
    rows = [
        f"| {name} | {len(seconds)} | {median(seconds):.1f} | {max(seconds):.1f} |"
        for name, seconds in sorted(taken.items())
    ]
    head = ["| fault | times | median s until served | longest |", "|---|---:|---:|---:|"]
    return ["## Faults", "", *head, *rows, ""]


def table(kind: Watched) -> list[str]:
    """Return the table of one kind."""
    head = f"| | median {kind.unit} | grown | surely | in s | |"
    rows = [
        f"| {name} | {found.level:.1f} | {found.grown:+.2f} | {found.surely:+.2f}"
        f" | {found.seconds:.0f} | {verdict} |"
        for name, found, verdict in rows_of(kind)
        if found.level >= kind.least or verdict == "GROWS"
    ]
    allowed = f"Allowed: {kind.allowed:g} {kind.unit} or {kind.share:.0%}, the greater."
    return [f"## {kind.title}", "", allowed, "", head, "|---|---:|---:|---:|---:|---|", *rows, ""]


def draw(path: Path, findings: Findings, kinds: list[Watched]) -> None:
    """Draw a panel a kind, with a line where a fault was."""
    figure, panels = pyplot.subplots(len(kinds), 1, figsize=(11, 4 * len(kinds)), sharex=True)
    for panel, kind in zip(panels, kinds, strict=True):
        for name, points in sorted(kind.series.items()):
            values = [value for _, value in points]
            if max(values) >= kind.least:
                minutes = [seconds / 60 for seconds, _ in points]
                is_long = points[-1][0] - points[0][0] > findings.now / 4
                panel.plot(minutes, values, lw=1, label=name if is_long else None)
        for _, begin, _ in findings.faults:
            panel.axvline(begin / 60, color="grey", lw=0.4)
        panel.set(title=kind.title, ylabel=kind.unit)
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
    panels[-1].set_xlabel("minutes (grey: a fault)")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
