"""A service of the private server as a process of its own: start it, find it again, stop it."""

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil

from pgblend.cli.child_process import FOLDER, python_module, service_environment
from pgblend.cli.errors import UserError

START_TIMEOUT_SECONDS = 120  # a local model may be loaded by then
STOP_TIMEOUT_SECONDS = 8
POLL_SECONDS = 0.05
LARGEST_LOG_BYTES = 10 * 2**20


@dataclass(frozen=True)
class RunningService:
    """A service that answers."""

    url: str
    pid: int
    version: str


class ServiceProcess:
    """A service of one data folder, known by the path of its ready file in its command line."""

    def __init__(self, directory: Path, name: str, title: str) -> None:
        self._title = title
        self.ready_file = directory / f"{name}.json"
        self.log_file = directory / f"{name}.log"
        self._logged_before = 0

    def stop(self) -> bool:
        """End the service, a hanging one too, and tell whether there was one."""
        processes = self.processes()
        for process in processes:
            process.terminate()
        _, alive = psutil.wait_procs(processes, timeout=STOP_TIMEOUT_SECONDS)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, timeout=STOP_TIMEOUT_SECONDS)
        return bool(processes)

    def processes(self) -> list[psutil.Process]:
        """Return the processes of the service, one at most where nothing went wrong."""
        return [
            process
            for process in psutil.process_iter(["cmdline", "status"])
            if str(self.ready_file) in (process.info["cmdline"] or ())
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ]

    def announced(self) -> RunningService | None:
        """Return what the service says of itself; it may have ended since."""
        try:
            return RunningService(**json.loads(self.ready_file.read_text(encoding="utf-8")))
        except (FileNotFoundError, TypeError, ValueError):
            return None

    def run(
        self,
        arguments: list[str],
        environment: dict[str, str],
        answers: Callable[[RunningService], bool],
    ) -> RunningService:
        """Start `pgblend ARGUMENTS` so that it outlives this process; wait until it answers.

        None of it may run any more. The log goes on; one of 10 MB is set aside.
        """
        self.ready_file.unlink(missing_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > LARGEST_LOG_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        options = [*arguments, "--ready-file", str(self.ready_file)]
        with self.log_file.open("a") as log:
            self._logged_before = log.tell()
            process = subprocess.Popen(
                python_module("pgblend.cli.main", *options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=FOLDER,
                env=service_environment(environment),
                start_new_session=True,
            )
        return self._wait(process, answers)

    def _wait(
        self, process: subprocess.Popen[bytes], answers: Callable[[RunningService], bool]
    ) -> RunningService:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            announced = self.announced()
            if announced is not None and announced.pid == process.pid and answers(announced):
                process.returncode = 0  # it is to outlive this process: nobody waits for it
                return announced
            if process.poll() is not None:
                raise UserError(f"{self._title} did not start: {self._last_words()}")
            time.sleep(POLL_SECONDS)
        self.stop()
        raise UserError(
            f"{self._title} did not answer within {START_TIMEOUT_SECONDS} seconds",
            hint=f"its log is {self.log_file}",
        )

    def _last_words(self) -> str:
        with self.log_file.open(encoding="utf-8", errors="replace") as log:
            log.seek(self._logged_before)
            lines = log.read().split("\n")
        said = [line for line in lines if line.strip() and not line.startswith("hint: ")]
        return said[-1].removeprefix("pgblend: error: ") if said else f"see {self.log_file}"


def is_current(service: RunningService) -> bool:
    """Tell whether a service runs the installed version of pgblend."""
    return service.version == version("pgblend")
