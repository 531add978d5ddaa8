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
    source, target = folder / "source", folder / "wheel"
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
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*command, "-w", str(target), str(source)], check=True, timeout=TIMEOUT_SECONDS)
    (built,) = target.glob("*.whl")
    return built


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
