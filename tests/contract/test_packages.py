"""The sdist and the wheel, as they are released: what they hold, and that they run alone."""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.wheel import FOLDERS, ROOT, build_both, build_wheel

pytestmark = pytest.mark.slow
TIMEOUT_SECONDS = 900
# Beside the package's folders; the last three are made by the build.
BESIDE = {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO", "setup.cfg", "pgblend.egg-info"}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build_both(tmp_path_factory.mktemp("packages"))


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_sdist_holds_what_its_build_needs(packages: tuple[Path, Path]) -> None:
    with tarfile.open(packages[1]) as archive:
        names = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    assert {name.parts[0] for name in names if name.parts} == {*FOLDERS, *BESIDE}


def test_the_sdist_gives_the_wheel_of_the_tree(packages: tuple[Path, Path], tmp_path: Path) -> None:
    assert _contents(packages[0]) == _contents(build_wheel(tmp_path))


def test_an_index_would_take_them(packages: tuple[Path, Path]) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, packages)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def empty_folder() -> Iterator[Path]:
    """A folder that the server's account may enter."""
    folder = Path(tempfile.mkdtemp(prefix="pgblend-test-", dir="/dev/shm"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


def test_the_wheel_runs_in_an_empty_environment(
    packages: tuple[Path, Path], empty_folder: Path, tmp_path: Path
) -> None:
    """Nothing of the repository, of the tests' environment or of its variables is there."""
    python = tmp_path / "python"
    uv = [sys.executable, "-m", "uv", "--quiet"]  # pip takes minutes for the same
    subprocess.run([*uv, "venv", "--python", sys.executable, str(python)], check=True)
    subprocess.run(
        [*uv, "pip", "install", "--python", str(python), f"{packages[0]}[local]"],
        check=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert list(python.glob("lib/*/site-packages/litellm"))
    assert not list(python.glob("lib/*/site-packages/torch*"))
    (empty_folder / "wine.md").write_text("# Wine\n\nThe cellar holds red wine of Bordeaux.")
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(empty_folder),
        "PGBLEND_DATA_DIR": str(empty_folder / "data"),
        "LANG": "C.UTF-8",
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            [str(python / "bin" / command[0]), *command[1:]],
            cwd=empty_folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    assert str(ROOT) not in run("python", "-c", "import pgblend.cli; print(pgblend.cli.__file__)")
    try:
        run("pgblend", "up")
        run("pgblend", "ingest", "wine.md", "--collection", "docs")
        assert "Wine" in run("pgblend", "search", "bordeaux")
        found = run("pgblend", "query", "something to drink", "--json")
        assert '"vector"' in found
        assert "wine.md" in found
    finally:
        run("pgblend", "down")
