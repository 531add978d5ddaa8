"""Processes for which the libraries of some extras are not installed."""

import os
import subprocess
import sys
from pathlib import Path

from pgblend.cli.base.extras import MODULES

# Python runs a module of this name at its start, in child processes as well.
_SITE = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
"""


def environment_without(folder: Path, *extras: str) -> dict[str, str]:
    """Return variables for processes that are to go without; `folder` is theirs for that."""
    modules = {module for extra in extras for module in MODULES[extra]}
    (folder / "sitecustomize.py").write_text(_SITE.replace("{modules!r}", repr(modules)))
    return {"PYTHONPATH": str(folder)}


def run_without(
    folder: Path,
    *arguments: str,
    extras: tuple[str, ...] = tuple(MODULES),
    code: str = "",
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """Run `pgblend ARGUMENTS`, or some code, without these extras."""
    start = ["-c", code] if code else ["-m", "pgblend.cli.main"]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        env=os.environ | environment_without(folder, *extras) | env,
        capture_output=True,
        text=True,
        timeout=120,
    )
