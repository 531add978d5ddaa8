"""Two runs of one judged set, side by side."""

from dataclasses import asdict
from typing import Any

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.errors import UserError
from pgblend.cli.evaluate.explain import explain_command
from pgblend.cli.evaluate.metrics import RELEVANCE
from pgblend.cli.evaluate.significance import compare_paired

_RUN = """
    SELECT r.run_id, r.judged_set, r.arm, r.profile, r.state, r.options, s.collection
    FROM pgblend.evaluation_runs AS r
    INNER JOIN pgblend.judged_sets AS s ON s.name = r.judged_set
    WHERE r.run_id = %(run)s
"""
_QUERIES = """
    SELECT a.query_key, a.query, a.metrics AS metrics_a, b.metrics AS metrics_b
    FROM pgblend.evaluation_queries AS a
    INNER JOIN pgblend.evaluation_queries AS b ON b.query_key = a.query_key
    WHERE a.run_id = %(a)s AND b.run_id = %(b)s
    ORDER BY a.query_key
"""


def compare(connection: Connection, run_a: int, run_b: int, metric: str) -> dict[str, Any]:
    """Compare two finished runs of one set: each metric with its test, and each query.

    Queries that only one of the runs has are left out and counted.
    """
    a, b = (_read_run(connection, run) for run in (run_a, run_b))
    if a["judged_set"] != b["judged_set"]:
        raise UserError(
            f"run {run_a} is on {a['judged_set']!r}, run {run_b} on {b['judged_set']!r}",
            hint="two runs of one judged set can be compared",
        )
    rows = fetch_rows(connection, _QUERIES, {"a": run_a, "b": run_b})
    if not rows:
        raise UserError(f"runs {run_a} and {run_b} have no query in common")
    metrics = {
        name: asdict(
            compare_paired(
                [row["metrics_a"][name] for row in rows], [row["metrics_b"][name] for row in rows]
            )
        )
        for name in RELEVANCE
    }
    queries = [
        {
            "query_key": row["query_key"],
            "query": row["query"],
            "a": row["metrics_a"][metric],
            "b": row["metrics_b"][metric],
            "difference": row["metrics_b"][metric] - row["metrics_a"][metric],
            "explain_a": explain_command(run_a, row["query_key"]),
            "explain": explain_command(run_b, row["query_key"]),
        }
        for row in rows
    ]
    queries.sort(key=lambda row: (-abs(row["difference"]), row["query_key"]))
    return {"a": a, "b": b, "metric": metric, "metrics": metrics, "queries": queries}


def _read_run(connection: Connection, run: int) -> dict[str, Any]:
    rows = fetch_rows(connection, _RUN, {"run": run})
    if not rows:
        raise UserError(
            f"there is no run {run} that you may read", hint="see pgblend eval list --runs"
        )
    if rows[0]["state"] != "done":
        raise UserError(
            f"run {run} is not finished", hint="pgblend eval run, as it was started, goes on"
        )
    return rows[0]
