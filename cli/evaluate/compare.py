"""Two runs of one judged set, side by side."""

from dataclasses import asdict
from typing import Any

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.errors import UserError
from pgblend.cli.evaluate.explain import explain_command
from pgblend.cli.evaluate.metric_names import RELEVANCE
from pgblend.cli.evaluate.reranking import reranking_verdict
from pgblend.cli.evaluate.significance import compare_paired

_RUN = """
    SELECT r.run_id, r.judged_set, r.arm, r.profile, r.state, r.options, r.collection,
        r.result_limit, r.settings, r.versions, r.metrics, r.queries, r.degraded_queries
    FROM blend.evaluation_runs AS r
    WHERE r.run_id = %(run)s
"""
_FACTS = ("run_id", "judged_set", "arm", "profile", "state", "options", "collection")
_QUERIES = """
    SELECT a.query_key, a.query, a.metrics AS metrics_a, b.metrics AS metrics_b
    FROM blend.evaluation_queries AS a
    INNER JOIN blend.evaluation_queries AS b ON b.query_key = a.query_key
    WHERE a.run_id = %(a)s AND b.run_id = %(b)s
    ORDER BY a.query_key
"""


def compare(connection: Connection, run_a: int, run_b: int, metric: str) -> dict[str, Any]:
    """Compare two finished runs of one set: each metric with its test, and each query.

    `reranking` says what it does where one of them reranks and the other does not, else None.
    Queries that only one of the runs has are left out; `warnings` counts them, and says what else
    the runs differ in beside the way to search.
    """
    a, b = (_read_run(connection, run) for run in (run_a, run_b))
    if (a["judged_set"], a["collection"]) != (b["judged_set"], b["collection"]):
        raise UserError(
            f"run {run_a} is on {_set_name(a)}, run {run_b} on {_set_name(b)}",
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
        if name in rows[0]["metrics_a"] and name in rows[0]["metrics_b"]
    }
    if metric not in metrics:
        raise UserError(
            f"runs {run_a} and {run_b} have not both measured {metric}",
            hint=f"both have {', '.join(metrics)}; a run of --limit 100 has all",
        )
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
    return {
        "a": _facts(a),
        "b": _facts(b),
        "metric": metric,
        "metrics": metrics,
        "queries": queries,
        "reranking": reranking_verdict(a, b, metrics),
        "warnings": _warnings(a, b, len(rows)),
    }


def _set_name(run: dict[str, Any]) -> str:
    return f"{run['judged_set']!r} of {run['collection'] or 'all collections'}"


def _facts(run: dict[str, Any]) -> dict[str, Any]:
    return {name: run[name] for name in _FACTS}


def _warnings(a: dict[str, Any], b: dict[str, Any], common: int) -> list[str]:
    """Say what makes the comparison less than one of two ways to search the same."""
    found = []
    left_out = [run["queries"] - common for run in (a, b)]
    if any(left_out):
        found.append(
            f"{left_out[0]} queries of run {a['run_id']} and {left_out[1]} of run {b['run_id']} "
            "are not in the other and left out"
        )
    names = sorted(a["versions"].keys() | b["versions"].keys())
    if "rerank_model" not in a["versions"].keys() & b["versions"].keys():
        names = [name for name in names if name != "rerank_model"]  # it is what is compared
    found += [
        f"{name.replace('_', ' ')}: {a['versions'].get(name)} in run {a['run_id']}, "
        f"{b['versions'].get(name)} in run {b['run_id']}"
        for name in names
        if a["versions"].get(name) != b["versions"].get(name)
    ]
    if a["result_limit"] != b["result_limit"]:
        found.append(f"limit: {a['result_limit']} and {b['result_limit']} passages a search")
    found += [
        f"run {run['run_id']}: {run['degraded_queries']} searches went on without a stage"
        for run in (a, b)
        if run["degraded_queries"]
    ]
    return found


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
