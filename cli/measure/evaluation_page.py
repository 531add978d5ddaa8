"""Runs as one self-contained page: what was measured, in pictures and tables."""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pgblend.cli.base import output
from pgblend.cli.base.database import Connection, fetch_rows
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.files import writing
from pgblend.cli.base.pages import page_environment
from pgblend.cli.measure.eval_options import ALL, LATENCY
from pgblend.cli.measure.explain import explain_command, explain_query

# Pictures of runs, as SVG in the colours of the page: metrics, recall curves, times.

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


Links = dict[tuple[int, str], str]
WORST = 10
# The runs that are named, or else the newest finished one of each way to search a set.
_RUNS = """
    SELECT DISTINCT ON (
        r.judged_set, r.collection, r.arm, r.profile, r.options,
        CASE WHEN %(runs)s::bigint[] IS NOT NULL THEN r.run_id END)
        r.run_id, r.judged_set, r.arm, r.profile, r.queries, r.degraded_queries, r.metrics,
        r.options, r.versions, r.finished_at, r.collection,
        (
            SELECT k.figures FROM pgblend_data.calibration AS k
            INNER JOIN pgblend_data.collection AS c ON c.id = k.collection_id
            INNER JOIN pgblend_data.embedding_space AS e ON e.name = k.space AND e.active
            WHERE c.name = r.collection
        ) AS calibration
    FROM blend.evaluation_runs AS r
    WHERE r.state = 'done' AND (%(sets)s::text[] IS NULL OR r.judged_set = ANY(%(sets)s))
        AND (%(runs)s::bigint[] IS NULL OR r.run_id = ANY(%(runs)s))
        AND coalesce(r.collection, '') = coalesce(%(collection)s, r.collection, '')
    ORDER BY r.judged_set, r.collection, r.arm, r.profile, r.options,
        CASE WHEN %(runs)s::bigint[] IS NOT NULL THEN r.run_id END, r.run_id DESC
"""
_QUERIES = """
    SELECT e.query_key, e.query, e.metrics, e.source_keys,
        (
            SELECT jsonb_object_agg(j.source_key, j.grade)
            FROM blend.judgements AS j
            WHERE j.judged_set = %(set)s AND j.collection IS NOT DISTINCT FROM %(collection)s
                AND j.query_key = e.query_key AND j.grade > 0
        ) AS relevant
    FROM blend.evaluation_queries AS e WHERE e.run_id = %(run)s ORDER BY e.query_key
"""
_DEFAULT_OPTIONS = {"timeouts_ms"}


@dataclass(frozen=True)
class Run:
    """A finished run with what each of its queries found."""

    facts: dict[str, Any]
    queries: list[dict[str, Any]]
    has_twin: bool = False

    @property
    def name(self) -> str:
        """What it was searched by: a profile or an arm, with options that differ.

        A run that was named beside others of its kind has its number, too.
        """
        given = {k: v for k, v in self.facts["options"].items() if k not in _DEFAULT_OPTIONS}
        way = self.facts["profile"] or self.facts["arm"]
        number = f"run {self.facts['run_id']}" if self.has_twin else ""
        return ", ".join(filter(None, (way, *_told(given), number)))

    def worst(self) -> list[dict[str, Any]]:
        """Return the queries with the lowest nDCG@10, with the command that explains each."""
        ordered = sorted(self.queries, key=lambda q: (q["metrics"]["nDCG@10"], q["query_key"]))
        return [
            query | {"explain": explain_command(self.facts["run_id"], query["query_key"])}
            for query in ordered[:WORST]
        ]


def read_runs(
    connection: Connection,
    sets: Sequence[str],
    run_ids: Sequence[int],
    collection: str | None = None,
) -> list[Run]:
    """Read the named runs, or the newest finished one of each way, of these sets or else of all.

    A run or a set that is named and has nothing to report is an error.
    """
    wanted = {"sets": list(sets) or None, "runs": list(run_ids) or None, "collection": collection}
    rows = fetch_rows(connection, _RUNS, wanted)
    if not rows:
        raise UserError("there is no finished run to report", hint="start with: pgblend eval run")
    lacking = [f"run {run}" for run in run_ids if run not in {row["run_id"] for row in rows}]
    lacking += [repr(name) for name in sets if name not in {row["judged_set"] for row in rows}]
    if lacking:
        raise UserError(
            f"there is no finished run to report of {', '.join(lacking)}",
            hint="pgblend eval list --runs names those there are",
        )
    kinds = Counter(map(_kind, rows))
    names = Counter(name for name, _ in {(row["judged_set"], row["collection"]) for row in rows})
    return [
        Run(
            row | {"judged_set": _told_set(row, names)},
            fetch_rows(
                connection,
                _QUERIES,
                {
                    "run": row["run_id"],
                    "set": row["judged_set"],
                    "collection": row["collection"],
                },
            ),
            kinds[_kind(row)] > 1,
        )
        for row in rows
    ]


def _told_set(facts: dict[str, Any], names: Counter[str]) -> str:
    """Name a run's set, with its collection where several have one of the name."""
    name = str(facts["judged_set"])
    return f"{name} ({facts['collection'] or 'all collections'})" if names[name] > 1 else name


def _kind(facts: dict[str, Any]) -> str:
    return repr([facts[name] for name in ("judged_set", "collection", "arm", "profile", "options")])


def write_explanations(connection: Connection, runs: Sequence[Run], folder: Path) -> Links:
    """Write a page for each of the runs' worst queries; return where, beside the folder."""
    from pgblend.cli.search.explain_page import render_page
    from pgblend.cli.search.explain_trace import Trace

    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    links: Links = {}
    for run in runs:
        run_id = run.facts["run_id"]
        for place, query in enumerate(run.worst(), start=1):
            rows, _ = explain_query(connection, run_id, query["query_key"], 10)
            trace = rows[0]["trace"]
            page = folder / f"run-{run_id}-worst-{place}.html"
            with writing(page):
                page.write_text(render_page(Trace.from_json(trace)), encoding="utf-8")
            links[run_id, query["query_key"]] = f"{quote(folder.name)}/{page.name}"
    return links


def render_report(runs: Sequence[Run], links: Links | None = None) -> str:
    """Return the page as HTML; it fetches nothing.

    `links` are pages that explain a query, by run and key.
    """
    from markupsafe import Markup

    environment = page_environment("pgblend.cli.measure")
    environment.filters["figure"] = _figure
    environment.filters["heading"] = _heading
    return environment.get_template("report.html").render(
        runs=runs,
        links=links or {},
        sets=list(dict.fromkeys(run.facts["judged_set"] for run in runs)),
        metrics=ALL,
        ways=ways(runs),
        best=_best,
        pictures=[(title, Markup(picture)) for title, picture in draw_all(runs)],
    )


def _told(options: dict[str, Any]) -> list[str]:
    """Name options as people say them: weights vector 0.5, candidate_depth 50."""
    return [f"{name} {_value(value)}" for name, value in options.items()]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(_told(value)) or "none"
    if isinstance(value, list):
        return " ".join(map(_value, value)) or "none"
    return output.cell_text(value)


def _figure(value: float | None, metric: str) -> str:
    return "n/a" if value is None else f"{value:.1f}" if metric in LATENCY else f"{value:.3f}"


def _heading(metric: str) -> str:
    """Write a metric's name so that a column of figures may be narrow: 'p95, ms'."""
    return metric.replace("latency_", "").replace("_ms", ", ms").replace("@", " @")


def _best(runs: Sequence[Run], metric: str) -> float | None:
    """Return the best of the runs' values; the time and repetitions should be low."""
    values = [run.facts["metrics"].get(metric) for run in runs]
    known = [value for value in values if value is not None]
    is_low = metric in LATENCY or metric.startswith("duplicates")
    return (min if is_low else max)(known, default=None)
