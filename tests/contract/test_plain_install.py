"""`pip install pgblend` in a fresh environment: what it weighs, and what it can do."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pgblend.cli.base.extras import MODULES
from support.wheel import build_wheel

pytestmark = pytest.mark.slow
BENCHES = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHES)
        import install_sizes  # type: ignore[import-not-found]

    folder = tmp_path_factory.mktemp("plain")
    done = install_sizes.install(build_wheel(folder), install_sizes.PLAIN, folder)
    assert done.megabytes <= install_sizes.MOST_PLAIN_MEGABYTES
    return done


def test_it_migrates_ingests_and_searches(
    plain: Any, tmp_path: Path, new_database: Callable[..., str]
) -> None:
    url = new_database()

    def run(*arguments: str) -> str:
        command = [str(plain.python), "-m", "pgblend.cli.main", "--database-url", url, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "wine.md").write_text("# Wine\n\nThe production of wine.")
    run("migrate", "up")
    run("ingest", "wine.md", "--collection", "docs", "--no-embed")
    assert "Wine" in run("search", "wine")
    assert "Wine" in run("query", "wine")
    assert "production" in run("context", "wine")
    assert "docs" in run("collection", "list")
    assert run("config", "get", "rrf_k").strip().startswith("60")
    assert "litellm" not in run("status")
    for extra in MODULES:
        assert extra in run("doctor").partition("Not installed:")[2].splitlines()[0]
