"""`pgblend` in processes of its own, on a private server with a data folder of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import psutil

TIMEOUT_SECONDS = 120


class PrivateServer:
    """The command line in a process of its own, with a data folder of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def start(
        self, *arguments: str, within: Sequence[str] = (), **env: str
    ) -> subprocess.Popen[str]:
        """Start the command; `within`: by that program, such as unshare."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PG", "PGBLEND_"))
        }
        return subprocess.Popen(
            [*within, sys.executable, "-m", "pgblend.cli.main", *arguments],
            env=environment | {"PGBLEND_DATA_DIR": str(self.directory)} | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, expect: int = 0, within: Sequence[str] = (), **env: str
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, within=within, **env)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert "Traceback" not in err
        assert process.returncode == expect, err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def status(self) -> dict[str, Any]:
        process = self.start("status", "--json")
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert err == ""
        report: dict[str, Any] = json.loads(out)
        assert process.returncode == (0 if report["database"]["running"] else 3)
        return report

    @property
    def postmaster_pid(self) -> int:
        return int((self.directory / "postgres" / "postmaster.pid").read_text().split()[0])

    def has(self, process: Literal["postmaster", "gateway"]) -> bool:
        """Tell whether that process of it runs: `pgblend status` would take a second."""
        try:
            return psutil.pid_exists(getattr(self, f"{process}_pid"))
        except FileNotFoundError:
            return False

    def kill_everything(self) -> None:
        """End gateway and postmaster as a crash of the machine would."""
        for pid in (self.status()["gateway"]["pid"], self.postmaster_pid):
            if pid is not None:
                os.kill(pid, signal.SIGKILL)

    def remove(self) -> None:
        self.run("down")
        shutil.rmtree(self.directory)
