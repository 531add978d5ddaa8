"""What the search log is told of a search that is not its caller's word."""

from hashlib import sha256
from typing import Any

MOST_CHARACTERS = 4000


def searched_facts(
    report: dict[str, Any],
    noted: dict[str, Any],
    since_ms: float,
    statement_ms: float,
    log_queries: str,
) -> dict[str, Any]:
    """Return query, collections, ms, stages and trace of a report, by what was noted as it ran.

    `noted` has query, collections, ms and stages of the ranking, which ended `since_ms` ago; the
    statement began `statement_ms` ago. The report may say how long all of it and the fetch of its
    rows took, but no more than can be.
    """
    took = max(noted["ms"], min(number(report, "ms"), max(noted["ms"] + since_ms, statement_ms)))
    fetch = {"name": "fetch", "ms": min(number(report, "fetch_ms"), since_ms)}
    query = {
        "on": noted["query"][:MOST_CHARACTERS],
        "hash": sha256(noted["query"].encode("utf-8", "replace")).hexdigest(),
    }
    trace = report.get("trace")
    return {
        "query": query.get(log_queries),
        "collections": noted["collections"],
        "ms": took,
        "stages": [*noted["stages"], fetch | {"rows": report.get("rows")}],
        "trace": (trace if isinstance(trace, dict) else {}) | {"time_to_first_result_ms": took},
    }


def number(report: dict[str, Any], name: str) -> float:
    """Return a number of a report, 0 where there is none or it is below 0."""
    value = report.get(name)
    return max(0.0, float(value)) if isinstance(value, int | float) else 0.0
