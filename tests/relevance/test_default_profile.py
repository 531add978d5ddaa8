"""The default profile on judged sets: against the figures that are committed, and its rivals.

Each set is imported and run as a user would; the vectors are ready, so no model is needed. A figure
that falls by more than the tolerance fails; one that rises may be written down (figures.json).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli
from pgblend.cli.measure.compare import compare_paired

pytestmark = pytest.mark.data

FIGURES: dict[str, Any] = json.loads(
    (Path(__file__).parent / "figures.json").read_text(encoding="utf-8")
)
SETS: dict[str, dict[str, float]] = FIGURES["sets"]
TOLERANCE = 0.005
POOLED_TOLERANCE = 0.002
# What a default must not lose to: on a set of LEAST_QUERIES, WORSE that is no chance.
RIVALS = {
    "lexical": ("--arm", "lexical"),
    "vector": ("--arm", "vector"),
    "rrf": ("--option", 'fusion="rrf"', "--option", 'weights={"lexical": 1, "vector": 1}'),
    "convex": (
        *("--option", 'normalization={"method": "minmax"}'),
        *("--option", 'weights={"lexical": 1, "vector": 1}'),
    ),
}
# Questions in plain language on code: they have a profile of their own.
CODE = ("cosqa_test",)
LEAST_QUERIES = 50
WORSE = 0.01
Run = Callable[..., str]
Values = dict[str, dict[str, float]]


def pgblend(url: str) -> Run:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["--database-url", url, "eval", *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def import_ready(run: Run, shared_data: Path, name: str) -> None:
    vectors = shared_data / "vectors" / f"{name}.npz"
    run("import", str(shared_data / "ir" / name), "--set", name, "--vectors", str(vectors))


def ranked(run: Run, name: str, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("run", "--set", name, "--json", *options))
    assert found["degraded_queries"] == 0
    return found


def assert_no_fall(name: str, metrics: dict[str, float]) -> None:
    for metric, figure in SETS[name].items():
        assert metrics[metric] >= figure - TOLERANCE, (name, metric)


@pytest.mark.slow
def test_a_small_set_does_not_fall_and_ranks_bit_for_bit_the_same(
    shared_data: Path, database_url: str
) -> None:
    run = pgblend(database_url)
    import_ready(run, shared_data, "medline")
    runs = [ranked(run, "medline") for _ in range(2)]
    assert_no_fall("medline", runs[0]["metrics"])
    with psycopg.connect(database_url) as connection:
        found = [
            connection.execute(
                "SELECT query_key, source_keys, scores FROM blend.evaluation_queries"
                " WHERE run_id = %s ORDER BY query_key",
                [one["run_id"]],
            ).fetchall()
            for one in runs
        ]
    assert len(found[0]) == 30
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def measured(module_url: str, shared_data: Path) -> dict[str, dict[str, Values]]:
    """nDCG@10 and R@100 of each query: by set, run (default and rivals), metric and query."""
    run = pgblend(module_url)
    found: dict[str, dict[str, Values]] = {}
    for name in SETS:
        import_ready(run, shared_data, name)
        ids = {
            way: ranked(run, name, *options)["run_id"]
            for way, options in {"default": (), **RIVALS}.items()
        }
        if name in CODE:
            ids["code"] = ranked(run, name, "--profile", "code")["run_id"]
        with psycopg.connect(module_url) as connection:
            found[name] = {way: _by_query(connection, run_id) for way, run_id in ids.items()}
    return found


def _by_query(connection: psycopg.Connection, run_id: int) -> Values:
    rows = connection.execute(
        "SELECT query_key, metrics FROM blend.evaluation_queries WHERE run_id = %s"
        " ORDER BY query_key",
        [run_id],
    ).fetchall()
    return {metric: {key: one[metric] for key, one in rows} for metric in ("nDCG@10", "R@100")}


def _values(of_run: Values, metric: str = "nDCG@10") -> list[float]:
    return list(of_run[metric].values())


@pytest.mark.slow
def test_no_set_falls(measured: dict[str, dict[str, Values]]) -> None:
    for name, by_way in measured.items():
        means = {
            metric: sum(_values(by_way["default"], metric)) / len(_values(by_way["default"]))
            for metric in SETS[name]
        }
        assert_no_fall(name, means)


@pytest.mark.slow
@pytest.mark.parametrize("metric", FIGURES["pooled"])
def test_all_queries_together_do_not_fall(
    measured: dict[str, dict[str, Values]], metric: str
) -> None:
    values = [one for by_way in measured.values() for one in _values(by_way["default"], metric)]
    assert sum(values) / len(values) >= FIGURES["pooled"][metric] - POOLED_TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("rival", ["rrf", "convex"])
def test_the_default_is_better_than_plain_fusion(
    measured: dict[str, dict[str, Values]], rival: str
) -> None:
    values: dict[str, list[float]] = {rival: [], "default": []}
    for by_way in measured.values():
        for way, gathered in values.items():
            gathered += _values(by_way[way])
    paired = compare_paired(values[rival], values["default"])
    assert paired.difference > 0
    assert paired.p_value < 0.01


@pytest.mark.slow
def test_code_has_a_better_profile(measured: dict[str, dict[str, Values]]) -> None:
    for name in CODE:
        by_way = measured[name]
        paired = compare_paired(_values(by_way["default"]), _values(by_way["code"]))
        assert paired.difference > 0
        assert paired.p_value < 0.01


@pytest.mark.slow
def test_on_no_set_the_default_is_worse_than_chance_explains(
    measured: dict[str, dict[str, Values]],
) -> None:
    """Than the better arm, RRF or convex fusion; p values by Holm's correction."""
    compared = []
    for name, by_way in measured.items():
        values = {way: _values(of_run) for way, of_run in by_way.items()}
        if len(values["default"]) < LEAST_QUERIES:
            continue
        ours = values["code" if name in CODE else "default"]
        better = max(("lexical", "vector"), key=lambda arm: sum(values[arm]))
        for rival in (better, "rrf", "convex"):
            compared.append((compare_paired(values[rival], ours), name, rival))
    compared.sort(key=lambda one: one[0].p_value)
    for place, (paired, name, rival) in enumerate(compared):
        corrected = paired.p_value * (len(compared) - place)
        assert paired.difference >= -WORSE or corrected >= 0.05, (name, rival, paired)
