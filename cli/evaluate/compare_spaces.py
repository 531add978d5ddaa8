"""Two embedding spaces on one judged set."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from pgblend.cli.database import Connection
from pgblend.cli.evaluate.compare import compare
from pgblend.cli.evaluate.run import RunRequest, evaluate
from pgblend.cli.ingest.progress import StartBar


def compare_spaces(
    connection: Connection,
    judged_set: str,
    a: str,
    b: str,
    arms: Sequence[str],
    limit: int,
    start_bar: StartBar,
    collection: str | None = None,
) -> list[dict[str, Any]]:
    """Search the set's queries in both spaces by each arm; return each arm's comparison."""
    comparisons = []
    for arm in arms:
        runs = [
            evaluate(
                connection,
                RunRequest(judged_set, arm, None, {"space": space}, limit, collection),
                partial(start_bar, f"{judged_set} {arm} {space}"),
            )
            for space in (a, b)
        ]
        first, second = (run["run_id"] for run in runs)
        found = compare(connection, first, second, "nDCG@10")
        comparisons.append(
            {
                "arm": arm,
                "run_a": first,
                "run_b": second,
                "degraded_queries": [run["degraded_queries"] for run in runs],
                "latency_p50_ms": [run["metrics"]["latency_p50_ms"] for run in runs],
                "metrics": found["metrics"],
            }
        )
    return comparisons
