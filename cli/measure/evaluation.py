"""One run: a judged set searched in the database, measured, and held to bounds."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import ir_measures
import numpy as np
from ir_measures import Qrel, ScoredDoc

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.output import StartBar
from pgblend.cli.measure.compare import compare
from pgblend.cli.measure.eval_options import PASSAGE, RELEVANCE, measurable

# Metrics of ranked documents, by ir-measures, and their means.


def relevance_metrics(
    judgements: Mapping[str, Mapping[str, int]],
    rankings: Mapping[str, Sequence[str]],
    names: Sequence[str] = RELEVANCE,
) -> dict[str, dict[str, float]]:
    """Return these metrics of each query: its judged documents and its ranking, best first.

    A query that found nothing has 0 in all. Ranks count, not scores, so that equal scores keep the
    order in which the search gave them.
    """
    measures = {ir_measures.parse_measure(name): name for name in names}
    qrels = [
        Qrel(query, document, grade)
        for query in rankings
        for document, grade in judgements[query].items()
    ]
    found = [
        ScoredDoc(query, document, -float(rank))
        for query, documents in rankings.items()
        for rank, document in enumerate(documents)
    ]
    metrics = {query: dict.fromkeys(names, 0.0) for query in rankings}
    if found:
        for metric in ir_measures.iter_calc(list(measures), qrels, found):
            metrics[metric.query_id][measures[metric.measure]] = float(metric.value)
    return metrics


def mean_metrics(
    per_query: Sequence[Mapping[str, float]], latencies_ms: Sequence[float]
) -> dict[str, Any]:
    """Return the means over the queries, and the percentiles of the time of a search.

    Of RELEVANCE, what the queries have.
    """
    means: dict[str, Any] = {
        name: float(np.mean([metrics[name] for metrics in per_query]))
        for name in (*RELEVANCE, *PASSAGE)
        if name in per_query[0]
    }
    p50, p95 = np.percentile(np.array(latencies_ms), [50, 95])
    return means | {"latency_p50_ms": float(p50), "latency_p95_ms": float(p95)}


BATCH = 20
_START = (
    "SELECT pgblend._start_run(%(set)s, %(arm)s, %(profile)s, %(options)s, %(limit)s,"
    " %(collection)s)"
)
_LEFT = """
    SELECT count(*) FROM pgblend_data.judged_query AS q
    WHERE q.set_id = (SELECT r.set_id FROM pgblend_data.evaluation_run AS r WHERE r.id = %(run)s)
        AND EXISTS (SELECT FROM pgblend_data.judgement AS j WHERE j.query_id = q.id AND j.grade > 0)
        AND NOT EXISTS (
            SELECT FROM pgblend_data.evaluation_result AS e
            WHERE e.run_id = %(run)s AND e.query_id = q.id)
"""
_SEARCH = "SELECT blend.evaluate_queries(%(run)s, %(batch)s)"
_FOUND = """
    SELECT e.query_id, e.source_keys, e.latency_ms, e.metrics, e.degraded,
        (
            SELECT jsonb_object_agg(j.source_key, j.grade)
            FROM pgblend_data.judgement AS j WHERE j.query_id = e.query_id
        ) AS judgements
    FROM pgblend_data.evaluation_result AS e WHERE e.run_id = %(run)s ORDER BY e.query_id
"""
_FINISH = "SELECT pgblend._finish_run(%(run)s, %(queries)s, %(per_query)s::jsonb[], %(metrics)s)"


@dataclass(frozen=True)
class RunRequest:
    """A judged set and one way to search it."""

    judged_set: str
    arm: str
    profile: str | None
    options: dict[str, Any]
    limit: int
    collection: str | None = None  # where several have a set of the name


def evaluate(
    connection: Connection, request: RunRequest, start_bar: Callable[[int], Callable[[int], None]]
) -> dict[str, Any]:
    """Search all queries that an interrupted run left, measure, and return the finished run.

    Each batch is a transaction of its own, so that a run that was killed goes on where it was.
    """
    run = fetch_value(
        connection,
        _START,
        {
            "set": request.judged_set,
            "arm": request.arm,
            "profile": request.profile,
            "options": json.dumps(request.options),
            "limit": request.limit,
            "collection": request.collection,
        },
    )
    advance = start_bar(fetch_value(connection, _LEFT, {"run": run}))
    while done := fetch_value(connection, _SEARCH, {"run": run, "batch": BATCH}):
        advance(done)
    rows = fetch_rows(connection, _FOUND, {"run": run})
    if not rows:
        raise UserError(
            f"judged set {request.judged_set!r} has no query with a relevant document",
            hint="record_judgement(set, query, source_key, grade) adds one",
        )
    relevance = relevance_metrics(
        {str(row["query_id"]): row["judgements"] for row in rows},
        {str(row["query_id"]): row["source_keys"] for row in rows},
        measurable(request.limit),
    )
    per_query = [row["metrics"] | relevance[str(row["query_id"])] for row in rows]
    metrics = mean_metrics(per_query, [row["latency_ms"] for row in rows])
    fetch_value(
        connection,
        _FINISH,
        {
            "run": run,
            "queries": [row["query_id"] for row in rows],
            "per_query": [json.dumps(each) for each in per_query],
            "metrics": json.dumps(metrics),
        },
    )
    return {
        "run_id": run,
        "set": request.judged_set,
        "arm": request.arm,
        "profile": fetch_value(
            connection,
            "SELECT profile FROM pgblend_data.evaluation_run WHERE id = %(run)s",
            {"run": run},
        ),
        "queries": len(rows),
        "degraded_queries": sum(bool(row["degraded"]) for row in rows),
        "metrics": metrics,
    }


# Two embedding spaces on one judged set.


def compare_spaces(
    connection: Connection,
    requests: Sequence[RunRequest],
    spaces: tuple[str, str],
    start_bar: StartBar,
) -> list[dict[str, Any]]:
    """Search in both spaces by each request, one an arm; return each arm's comparison."""
    comparisons = []
    for request in requests:
        runs = [
            evaluate(
                connection,
                replace(request, options={**request.options, "space": space}),
                partial(start_bar, f"{request.judged_set} {request.arm} {space}"),
            )
            for space in spaces
        ]
        first, second = (run["run_id"] for run in runs)
        found = compare(connection, first, second, "nDCG@10")
        comparisons.append(
            {
                "arm": request.arm,
                "run_a": first,
                "run_b": second,
                "degraded_queries": [run["degraded_queries"] for run in runs],
                "latency_p50_ms": [run["metrics"]["latency_p50_ms"] for run in runs],
                "metrics": found["metrics"],
            }
        )
    return comparisons


# Whether a judged set is searched well enough: figures held against what is required.

STABILITY = "expansion_stability"
P95 = "latency_p95_ms"
_ROUNDING = 1e-9  # what the mean of many figures may be off
# The queries of a run, as a hybrid search expands them.
_QUERIES = """
    SELECT pgblend._plain_query(q.query) AS query
    FROM pgblend_data.judged_query AS q
    INNER JOIN pgblend_data.evaluation_result AS e ON e.query_id = q.id
    WHERE e.run_id = %(run)s ORDER BY q.id
"""
_EXPAND = "SELECT blend.expand_query(%(query)s, timeout_ms => 60000)"
_EXPANDED = ("lexicalQueries", "vectorQueries", "hyde")


@dataclass(frozen=True)
class FigureCheck:
    """One figure, and what it must at least or at most be."""

    name: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def passed(self) -> bool:
        """Whether it is so."""
        return (self.least is None or self.value >= self.least - _ROUNDING) and (
            self.most is None or self.value <= self.most
        )

    @property
    def required(self) -> str:
        """What is required, in words."""
        return f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"

    def facts(self) -> dict[str, Any]:
        """Return all as an object."""
        return asdict(self) | {"passed": self.passed}


def run_gate(
    connection: Connection,
    request: RunRequest,
    least: Mapping[str, float],
    max_p95_ms: float | None,
    start_bar: StartBar,
) -> tuple[dict[str, Any], list[FigureCheck]]:
    """Search a judged set; return the run and a check of each figure that something is required of.

    `least` has metrics of a run, and expansion_stability: only then are expansions asked for.
    """
    run = evaluate(connection, request, partial(start_bar, request.judged_set))
    figures = run["metrics"]
    if STABILITY in least:
        figures = figures | {
            STABILITY: expansion_stability(
                connection, run["run_id"], partial(start_bar, "expansions")
            )
        }
    checks = [FigureCheck(name, figures[name], least=value) for name, value in least.items()]
    if max_p95_ms is not None:
        checks.append(FigureCheck(P95, figures[P95], most=max_p95_ms))
    return run, checks


def expansion_stability(
    connection: Connection, run_id: int, start_bar: Callable[[int], Callable[[int], None]]
) -> float:
    """Return the share of a run's queries that, asked twice, are expanded alike."""
    queries = [row["query"] for row in fetch_rows(connection, _QUERIES, {"run": run_id})]
    advance = start_bar(len(queries))
    alike = 0
    for query in queries:
        first, second = (_expand(connection, query) for _ in range(2))
        alike += first == second
        advance(1)
    return alike / len(queries)


def _expand(connection: Connection, query: str) -> list[Any]:
    expansion = fetch_value(connection, _EXPAND, {"query": query}) or {}
    return [expansion.get(name) for name in _EXPANDED]
