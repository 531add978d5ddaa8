"""Relevance on judged sets: what holds on queries, and on sets, that no curve was fitted on.

The curve that is shipped is made of more sets (tests/benchmarks/fit_prior.py).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.base.database import connect
from pgblend.cli.main import cli
from pgblend.cli.measure.calibration import (
    calibration_error,
    coverage_thresholds,
    first_gain,
    fit_curve,
    judged_queries,
    search_judged,
)
from pgblend.plpy.search.relevance import COVERAGES, PRIORS, RANKING

pytestmark = pytest.mark.data

MODEL = "local/all-minilm-l6-v2"
SETS = ("scifact", "cosqa_test", "xquad-en", "xquad-de")  # of 300 judged queries or more
SPLITS = 20


def import_ready(url: str, shared_data: Path, name: str) -> None:
    vectors = shared_data / "vectors" / f"{name}.npz"
    arguments = ["eval", "import", str(shared_data / "ir" / name), "--set", name]
    ready = ["--vectors", str(vectors), "--model", MODEL]
    result = CliRunner().invoke(cli, ["--database-url", url, *arguments, *ready])
    assert result.exit_code == 0, result.output


def test_the_prior_is_made_for_the_default_ranking(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "SELECT pgblend._search_settings('{}', 'balanced', '{}'::bigint[])"
        ).fetchone()
    assert row is not None
    assert {name: row[0][name] for name in RANKING} == RANKING


@pytest.mark.slow
def test_a_set_without_a_curve_has_the_prior(shared_data: Path, database_url: str) -> None:
    """Nobody has calibrated; rows keep their order and scores."""
    import_ready(database_url, shared_data, "medline")
    with connect(database_url) as connection:
        found = connection.execute(
            "SELECT r.score, r.relevance, r.details ->> 'relevance_basis'"
            " FROM pgblend_data.judged_query AS q, blend.hybrid_search(pgblend._plain_query("
            "q.query), 10, query_embedding => q.embedding) AS r WHERE q.key = '1' ORDER BY r.rank"
        ).fetchall()
    assert {row[2] for row in found} == {"prior"}
    relevances = [row[1] for row in found]
    assert relevances == sorted(relevances, reverse=True)
    assert [row[0] for row in found] == sorted((row[0] for row in found), reverse=True)
    assert 0 < relevances[-1] <= relevances[0] < 1


@pytest.mark.slow
def test_probabilities_hold_within_a_collection_and_lists_hold_what_is_relevant(
    shared_data: Path, module_url: str
) -> None:
    held: dict[int, list[bool]] = {80: [], 90: []}
    errors = {}
    for name in SETS:
        import_ready(module_url, shared_data, name)
        arguments = ["--database-url", module_url, "calibrate", "-c", name, "--json"]
        told = json.loads(CliRunner().invoke(cli, arguments).stdout)["calibrations"][0]
        errors[name] = (told["error"], told["low"], told["high"])
        with connect(module_url) as connection:
            (row,) = connection.execute(
                "SELECT collection_id FROM pgblend_data.judged_set WHERE name = %s", [name]
            ).fetchall()
            queries = judged_queries(connection, row[0], MODEL)
            searches: list[Any] = search_judged(connection, name, queries, lambda _: None).searches
        curve = fit_curve(searches[::2], PRIORS[MODEL].gate)
        thresholds = coverage_thresholds(curve, searches[1::4])
        for percent, found in held.items():
            least = thresholds[percent - COVERAGES.start]
            if least is not None:
                found += [first_gain(curve, one) >= least for one in searches[3::4]]
    assert all(error <= 0.05 for error, _, _ in errors.values()), errors
    for percent, found in held.items():
        error = 1.96 * (percent * (100 - percent)) ** 0.5 / 100 / len(found) ** 0.5
        # Thresholds are drawn as well, of as many queries as are judged.
        assert abs(np.mean(found) - percent / 100) <= error * 2**0.5, (percent, np.mean(found))


@pytest.mark.slow
def test_probabilities_hold_on_a_small_set_over_many_splits(
    shared_data: Path, database_url: str
) -> None:
    """112 queries fit and 113 judge: one split's error is anything from .03 to .08, its mean .050.

    A curve that is right has .03 to .04 on so few.
    """
    import_ready(database_url, shared_data, "cranfield")
    with connect(database_url) as connection:
        (row,) = connection.execute("SELECT collection_id FROM pgblend_data.judged_set").fetchall()
        queries = judged_queries(connection, row[0], MODEL)
        searches = search_judged(connection, "cranfield", queries, lambda _: None).searches
    errors = []
    for seed in range(SPLITS):
        drawn = np.random.default_rng(seed).permutation(len(searches))
        fitted_on, held_back = np.array_split(drawn, 2)
        curve = fit_curve([searches[one] for one in fitted_on], PRIORS[MODEL].gate)
        errors.append(calibration_error(curve, [searches[one] for one in held_back])[0])
    assert len(searches) == 225
    assert np.mean(errors) <= 0.055, errors
