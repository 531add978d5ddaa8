"""Whether a judged set is searched well enough: figures held against what is required."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pgblend.cli.database import Connection, fetch_rows, fetch_value
from pgblend.cli.evaluate.run import RunRequest, evaluate
from pgblend.cli.ingest.progress import StartBar

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
class Check:
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
) -> tuple[dict[str, Any], list[Check]]:
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
    checks = [Check(name, figures[name], least=value) for name, value in least.items()]
    if max_p95_ms is not None:
        checks.append(Check(P95, figures[P95], most=max_p95_ms))
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
