"""A shell for the documentation's examples: a folder, a home and a data folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

TIMEOUT_SECONDS = 300
PROGRAMS = {
    "sh": ("bash", "-euo", "pipefail"),
    "sql": ("pgblend", "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"),
    "python": ("python", "-"),
}


class Shell:
    """Runs examples as a user would: in a folder, with a home and a data folder of its own."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        home = folder / "home"
        home.mkdir()
        programs = Path(sys.executable).parent
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "PGBLEND_DATA_DIR": str(folder / "data"),
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE")},
            **environment,
        }

    def run(self, language: str, code: str) -> tuple[int, str]:
        """Run code by its program; return its exit code and all that it printed."""
        done = subprocess.run(
            PROGRAMS[language],
            input=code,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        return done.returncode, done.stdout

    def do(self, code: str) -> None:
        """Run commands that must succeed."""
        status, printed = self.run("sh", code)
        assert status == 0, printed
