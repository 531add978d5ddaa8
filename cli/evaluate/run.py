"""One run: a judged set's queries searched in the database, then measured."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pgblend.cli.database import Connection, fetch_rows, fetch_value
from pgblend.cli.errors import UserError
from pgblend.cli.evaluate.metric_names import measurable
from pgblend.cli.evaluate.metrics import mean_metrics, relevance_metrics

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
