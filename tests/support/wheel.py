"""The wheel, and environments that it goes into."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("cli", "migrations", "plpy", "sql")
TIMEOUT_SECONDS = 120


def build_wheel(folder: Path) -> Path:
    """Build a wheel in `folder` from a copy of the files that git knows of."""
    target = folder / "wheel"
    source = copy_source(folder / "source")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*command, "-w", str(target), str(source)], check=True, timeout=TIMEOUT_SECONDS)
    (built,) = target.glob("*.whl")
    return built


def build_both(folder: Path) -> tuple[Path, Path]:
    """Build the sdist in `folder`, and of it the wheel, as a release does; return wheel, sdist."""
    target = folder / "dist"
    source = copy_source(folder / "source")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target)]
    subprocess.run(
        [*command, str(source)], check=True, capture_output=True, timeout=TIMEOUT_SECONDS
    )
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


def copy_source(target: Path) -> Path:
    """Copy what a package is built from: the files that git knows of."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listing.split("\0")):
        if (
            name.startswith((*FOLDERS, "pyproject", "README", "LICENSE"))
            and (ROOT / name).is_file()
        ):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes((ROOT / name).read_bytes())
    return target


def make_environment(folder: Path, *, with_libraries: bool) -> None:
    """Make a Python environment: empty, or with the libraries of the tests' but without pgblend."""
    venv.create(folder, with_pip=not with_libraries, symlinks=True)
    if not with_libraries:
        return
    (packages,) = folder.glob("lib/python3*/site-packages")
    # Folders that a .pth file adds come last, and .pth files in them, as of pgblend's editable
    # install, do not count.
    (packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = folder / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m pip "$@"\n')
    pip.chmod(0o755)
