"""The wheel holds exactly the package's files, and migrates a database without the repository."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from support.wheel import FOLDERS, ROOT, build_wheel

EXTENSION = "migrations/as_extension/Makefile"
TEMPLATES = {".html", ".svg", ".css", ".js"}
SUFFIXES = {".py", ".sql", ".plpgsql", ".json", ".mako", ".sha256", ".typed", ".txt"} | TEMPLATES


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.extended
def test_exactly_these_files(wheel: Path) -> None:
    packed = {
        name.removeprefix("pgblend/")
        for name in zipfile.ZipFile(wheel).namelist()
        if ".dist-info/" not in name
    }
    expected = {
        str(path.relative_to(ROOT)).replace("cli/integrations/", "integrations/")
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if (path.suffix in SUFFIXES or path.parent.name == "cl100k") and path.is_file()
        if "__pycache__" not in path.parts
    }
    expected.add(EXTENSION)
    assert packed == expected


@pytest.mark.slow
def test_it_migrates_without_the_repository(
    wheel: Path, tmp_path: Path, new_database: Callable[..., str]
) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    url = new_database()
    code = (
        "from pgblend.cli.main import main; import pgblend.sql; print(pgblend.sql.__file__); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--database-url", url, "migrate", "up"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM hybrid_search('x')").fetchone()
    assert row == (0,)
