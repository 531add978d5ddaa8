"""Runs as one self-contained page: what was measured, in pictures and tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pgblend.cli import output
from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.errors import UserError
from pgblend.cli.evaluate import plots
from pgblend.cli.evaluate.explain import explain_command, explain_query
from pgblend.cli.evaluate.metric_names import ALL, LATENCY
from pgblend.cli.files import writing
from pgblend.cli.pages.environment import page_environment

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
    from pgblend.cli.explain.page import render_page
    from pgblend.cli.explain.trace import Trace

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

    environment = page_environment("pgblend.cli.evaluate")
    environment.filters["figure"] = _figure
    environment.filters["heading"] = _heading
    return environment.get_template("report.html").render(
        runs=runs,
        links=links or {},
        sets=list(dict.fromkeys(run.facts["judged_set"] for run in runs)),
        metrics=ALL,
        ways=plots.ways(runs),
        best=_best,
        pictures=[(title, Markup(picture)) for title, picture in plots.draw_all(runs)],
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
