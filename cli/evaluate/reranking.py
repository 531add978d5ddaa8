"""Where reranking gains and where it costs: two runs of a judged set, with and without it."""

from collections.abc import Iterator, Mapping
from typing import Any

from pgblend.cli.database import Connection, fetch_rows

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
    {set, profile, model, verdict, metric, difference, low, high, p_value, ms}: with reranking less
    without it. The verdict is gains, loses or none, where it may be chance (p above .05); ms is the
    difference of median times.
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
