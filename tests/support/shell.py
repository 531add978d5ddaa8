"""A shell for the documentation's examples: a folder, a home and a data folder of its own."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

TIMEOUT_SECONDS = 900  # make and pip get much from the index
PROGRAMS = Path(sys.executable).parent
COMMANDS = {
    "sh": ("bash", "-euo", "pipefail"),
    "sql": (str(PROGRAMS / "pgblend"), "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"),
    "python": ("python", "-"),
}


class Shell:
    """Runs examples as a user would: in a folder, with a home and a data folder of its own.

    `places` says what stands here for the addresses that a page shows.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.places: dict[str, str] = {}
        self.folder = folder / "work"
        self.folder.mkdir()
        home = folder / "home"
        home.mkdir()
        self.environment = {
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "PGBLEND_DATA_DIR": str(folder / "data"),
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE")},
            **environment,
        }

    def run(self, language: str, code: str) -> tuple[int, str]:
        """Run code by its program; return its exit code and all that it printed."""
        for shown, real in self.places.items():
            code = code.replace(shown, real)
        done = subprocess.run(
            COMMANDS[language],
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

    def end_processes(self) -> None:
        """End what examples have left running in the background."""
        home = self.environment["HOME"]
        for process in psutil.process_iter():
            with suppress(psutil.Error):  # it has ended, or is another account's
                if process.environ().get("HOME") == home:
                    process.terminate()
