"""Two runs of one judged set, side by side: differences, significance, what reranking gains."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pgblend.cli.base.database import Connection, fetch_rows
from pgblend.cli.base.errors import UserError
from pgblend.cli.measure.eval_options import RELEVANCE
from pgblend.cli.measure.explain import explain_command

# Where reranking gains and where it costs: two runs of a judged set, with and without it.

METRIC = "nDCG@10"
OWN_SETTINGS = ("blend", "mode", "rerank", "rerank_depth", "rerank_level", "rerank_scores")
MOST_CHANCE = 0.05  # two-sided p, up to which a difference is no chance
# The newest run with reranking of each set and profile, and the newest that differs in that alone.
_PAIRS = """
    WITH run AS (
        SELECT r.*, r.versions ? 'rerank_model' AS is_reranked,
            r.versions - 'rerank_model' AS other_versions,
            r.settings - %(own)s::text[] AS other_settings
        FROM blend.evaluation_runs AS r WHERE r.state = 'done' AND r.arm = 'hybrid'
    )
    SELECT DISTINCT ON (w.judged_set, w.collection, w.profile)
        o.run_id AS without, w.run_id AS reranked
    FROM run AS w
    INNER JOIN run AS o USING (
        judged_set, profile, result_limit, other_versions, other_settings)
    WHERE w.collection IS NOT DISTINCT FROM o.collection AND w.is_reranked AND NOT o.is_reranked
    ORDER BY w.judged_set, w.collection, w.profile, w.run_id DESC, o.run_id DESC
"""


def reranking_runs(connection: Connection) -> Iterator[tuple[int, int]]:
    """Yield pairs of runs, without and with reranking, that differ in nothing else."""
    for row in fetch_rows(connection, _PAIRS, {"own": list(OWN_SETTINGS)}):
        yield row["without"], row["reranked"]


def reranking_verdict(
    a: Mapping[str, Any], b: Mapping[str, Any], metrics: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return what reranking does, where two compared runs differ in nothing else.

    None where both or neither reranked, and where arms, settings, models or limits differ as well.
    Else {set, profile, model, verdict, metric, difference, low, high, p_value, ms}: with reranking
    less without it. The verdict is gains, loses or none, where it may be chance (p above .05); ms
    is the difference of median times.
    """
    models = [run["versions"].get("rerank_model") for run in (a, b)]
    if sum(model is not None for model in models) != 1 or METRIC not in metrics:
        return None
    if what_else(a) != what_else(b):
        return None
    sign = 1 if models[1] else -1
    paired = metrics[METRIC]
    ends = sorted((sign * paired["low"], sign * paired["high"]))
    difference = sign * paired["difference"]
    is_chance = paired["p_value"] > MOST_CHANCE or not difference
    times = [run["metrics"]["latency_p50_ms"] for run in (a, b)]
    return {
        "set": a["judged_set"],
        "profile": b["profile"],
        "model": models[0] or models[1],
        "verdict": "none" if is_chance else "gains" if difference > 0 else "loses",
        "metric": METRIC,
        "difference": difference,
        "low": ends[0],
        "high": ends[1],
        "p_value": paired["p_value"],
        "ms": sign * (times[1] - times[0]),
    }


def what_else(run: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what a run's figures depend on beside its reranking."""
    versions = {name: value for name, value in run["versions"].items() if name != "rerank_model"}
    settings = {name: run["settings"][name] for name in run["settings"].keys() - {*OWN_SETTINGS}}
    return run["judged_set"], run["arm"], run["profile"], run["result_limit"], versions, settings


def told_verdict(found: Mapping[str, Any]) -> str:
    """Say a verdict in a line."""
    told = {"gains": "gains", "loses": "loses", "none": "no verdict, may be chance:"}
    return (
        f"reranking by {found['model']} on {found['set']} ({found['profile']}): "
        f"{told[found['verdict']]} {found['metric']} {found['difference']:+.3f} "
        f"({found['low']:+.3f} to {found['high']:+.3f}, p {found['p_value']:.3f}), "
        f"and takes {found['ms']:+.0f} ms a search"
    )


# Whether one run is better than another, or chance: paired tests over the same queries.

RESAMPLES = 10_000
# The same runs always give the same answer.
_SEED = 20091


@dataclass(frozen=True)
class Paired:
    """Two means over the same queries, and what their difference is worth.

    `p_value` is two-sided, by randomisation; `low` to `high` holds the mean difference b - a with
    95 % confidence, by bootstrap.
    """

    queries: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p_value: float
    wins: int
    losses: int
    ties: int


def compare_paired(a: Sequence[float], b: Sequence[float]) -> Paired:
    """Compare two runs' values of one metric, query by query.

    The randomisation test swaps a query's two values at random. How often is the mean difference
    then at least as large? (Smucker, Allan and Carterette 2007.) No queries are a ValueError.
    """
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if first.size == 0 or first.shape != second.shape:
        raise ValueError(f"{first.size} and {second.size} values: expected as many, at least one")
    differences = second - first
    mean = float(differences.mean())
    random = np.random.default_rng(_SEED)
    size = differences.size
    as_large = 0
    means = np.empty(RESAMPLES)
    for index in range(RESAMPLES):
        swapped = differences @ random.choice((-1.0, 1.0), size) / size
        as_large += abs(swapped) >= abs(mean) - 1e-12
        means[index] = differences[random.integers(0, size, size)].mean()
    low, high = np.percentile(means, [2.5, 97.5])
    return Paired(
        queries=size,
        mean_a=float(first.mean()),
        mean_b=float(second.mean()),
        difference=mean,
        low=float(low),
        high=float(high),
        p_value=(as_large + 1) / (RESAMPLES + 1),
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
    )


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
            hint=f"both have {', '.join(metrics)}. A run of --limit 100 has all",
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
