"""nDCG@10 of the default profile on judged sets, against the figures that are committed.

Each set is imported and run as a user would; the vectors are ready, so no model is needed. A figure
that falls by more than the tolerance fails; one that rises may be written down (figures.json).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli

pytestmark = pytest.mark.data

FIGURES: dict[str, float] = json.loads(
    (Path(__file__).parent / "figures.json").read_text(encoding="utf-8")
)["balanced"]
TOLERANCE = 0.005
QUICK = {"medline"}
SETS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FIGURES]


@pytest.fixture
def pgblend(database_url: str) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["--database-url", database_url, "eval", *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def import_ready(pgblend: Callable[..., str], shared_data: Path, name: str) -> None:
    vectors = shared_data / "vectors" / f"{name}.npz"
    pgblend("import", str(shared_data / "ir" / name), "--set", name, "--vectors", str(vectors))


def ranked(pgblend: Callable[..., str], name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pgblend("run", "--set", name, "--json"))
    assert found["degraded_queries"] == 0
    return found


@pytest.mark.parametrize("name", SETS)
def test_no_set_falls(pgblend: Callable[..., str], shared_data: Path, name: str) -> None:
    import_ready(pgblend, shared_data, name)
    assert ranked(pgblend, name)["metrics"]["nDCG@10"] >= FIGURES[name] - TOLERANCE


def test_rankings_are_the_same_bit_for_bit(
    pgblend: Callable[..., str], shared_data: Path, database_url: str
) -> None:
    import psycopg

    import_ready(pgblend, shared_data, "medline")
    runs = [ranked(pgblend, "medline")["run_id"] for _ in range(2)]
    with psycopg.connect(database_url) as connection:
        found = [
            connection.execute(
                "SELECT query_key, source_keys, scores FROM pgblend.evaluation_queries"
                " WHERE run_id = %s ORDER BY query_key",
                [run],
            ).fetchall()
            for run in runs
        ]
    assert len(found[0]) == 30
    assert found[0] == found[1]
