"""The model gateway as a process of the private server: start it, find it again, stop it."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import psutil

from pgblend.cli.errors import UserError
from pgblend.cli.extras import require
from pgblend.cli.server.account import Account
from pgblend.cli.server.gateway_token import (
    keep_token,
    new_token,
    read_own_token,
    ready_file,
    token_file,
)

DATABASE_VARIABLE = "PGBLEND_GATEWAY_DATABASE_URL"
START_TIMEOUT_SECONDS = 60
STOP_TIMEOUT_SECONDS = 8
HEALTH_TIMEOUT_SECONDS = 2
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class RunningGateway:
    """A gateway that answers."""

    url: str
    pid: int
    version: str


class GatewayProcess:
    """The gateway of one data folder, known by the path of its ready file in its command line."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.ready_file = ready_file(directory)
        self.log_file = directory / "gateway.log"
        self.env_file = directory / "gateway.env"

    def find(self) -> RunningGateway | None:
        """Return the gateway if it runs and answers; a stale ready file deceives nobody.

        One that wants no token, as those of earlier versions, is none.
        """
        announced = self._read_ready_file()
        guarded = {p.pid for p in self._processes() if "--token-file" in p.info["cmdline"]}
        if announced is None or announced.pid not in guarded:
            return None
        return announced if self._answers(announced) else None

    def start(
        self, account: Account, database_url: str | None = None, log_level: str | None = None
    ) -> RunningGateway:
        """Start a gateway that outlives this process, and wait until it answers.

        Its token is a new one, for it and the server's `account`: whoever took its port since the
        last one ended may have been shown that one's. With a URL it keeps its logs in that
        database; another one in the environment comes first.
        """
        require("gateway")
        environment = dict(os.environ)
        if database_url:
            environment.setdefault(DATABASE_VARIABLE, database_url)
        self.stop()
        self.ready_file.unlink(missing_ok=True)
        keep_token(self._directory, account, new_token())
        if self.log_file.exists():
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        with self.log_file.open("w") as log:
            process = subprocess.Popen(
                self._command(log_level),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=environment,
                start_new_session=True,
            )
        return self._wait(process)

    def stop(self) -> bool:
        """End the gateway, a hanging one too, and tell whether there was one."""
        processes = self._processes()
        for process in processes:
            process.terminate()
        _, alive = psutil.wait_procs(processes, timeout=STOP_TIMEOUT_SECONDS)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, timeout=STOP_TIMEOUT_SECONDS)
        return bool(processes)

    def _command(self, log_level: str | None) -> list[str]:
        """Preload, for the first search has no time to wait for the local model.

        `-P` keeps the folder that the user is in out of Python's path.
        """
        options = ["--port", "0", "--preload", "--ready-file", str(self.ready_file)]
        options += ["--token-file", str(token_file(self._directory))]
        if log_level is not None:
            options += ["--log-level", log_level]
        if self.env_file.exists():
            options += ["--env-file", str(self.env_file)]
        return [sys.executable, "-P", "-m", "pgblend.cli.main", "gateway", *options]

    def _wait(self, process: subprocess.Popen[bytes]) -> RunningGateway:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            announced = self._read_ready_file()
            if announced is not None and announced.pid == process.pid and self._answers(announced):
                process.returncode = 0  # it is to outlive this process: nobody waits for it
                return announced
            if process.poll() is not None:
                raise UserError(f"the gateway did not start: {self._last_words()}")
            time.sleep(POLL_SECONDS)
        self.stop()
        raise UserError(
            f"the gateway did not answer within {START_TIMEOUT_SECONDS} seconds",
            hint=f"its log is {self.log_file}",
        )

    def _answers(self, gateway: RunningGateway) -> bool:
        """Tell whether it answers; its pid shows that nobody else took over the port."""
        health = ask_health(gateway.url, read_own_token(self._directory))
        return (health or {}).get("pid") == gateway.pid

    def _processes(self) -> list[psutil.Process]:
        return [
            process
            for process in psutil.process_iter(["cmdline", "status"])
            if str(self.ready_file) in (process.info["cmdline"] or ())
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ]

    def _read_ready_file(self) -> RunningGateway | None:
        try:
            return RunningGateway(**json.loads(self.ready_file.read_text(encoding="utf-8")))
        except (FileNotFoundError, TypeError, ValueError):
            return None

    def _last_words(self) -> str:
        lines = self.log_file.read_text(encoding="utf-8", errors="replace").split("\n")
        said = [line for line in lines if line.strip() and not line.startswith("hint: ")]
        return said[-1].removeprefix("pgblend: error: ") if said else f"see {self.log_file}"


def log_address(url: str) -> str:
    """Return where a gateway takes the log of searches: the setting log_address for its URL."""
    return f"{url}.log" if url.startswith("unix:") else url.removeprefix("http://")


def is_current(gateway: RunningGateway) -> bool:
    """Tell whether the gateway runs the installed version of pgblend."""
    return gateway.version == version("pgblend")


def ask_health(url: str, token: str | None) -> dict[str, Any] | None:
    """Ask a gateway for its health, past any proxy; None when it does not answer."""
    transport, base = None, url.rstrip("/")
    if url.startswith("unix:"):
        transport, base = httpx.HTTPTransport(uds=url.removeprefix("unix:")), "http://gateway"
    try:
        with httpx.Client(
            transport=transport,
            timeout=HEALTH_TIMEOUT_SECONDS,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            trust_env=False,
        ) as client:
            answer = client.get(f"{base}/health").raise_for_status().json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return answer if isinstance(answer, dict) else {}
