"""The services of the private server, each a process of its own: start, find again, stop."""

import json
import os
import secrets
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psutil

from pgblend.cli.base.child_process import FOLDER, python_module, service_environment
from pgblend.cli.base.database import Connection, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import require
from pgblend.cli.base.http_client import answer_json, gateway_client
from pgblend.cli.operate.account import (
    Account,
    choose_port,
    is_free,
    keep_token,
    new_token,
    read_own_token,
    token_file,
)
from pgblend.cli.operate.state import DATA_DIRECTORY_VARIABLE, DATABASE, HOST

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

    module = "pgblend.cli.main"

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

    def find(self) -> RunningService | None:
        """Return the service if it runs."""
        announced = self.announced()
        pids = {process.pid for process in self.processes()}
        return announced if announced is not None and announced.pid in pids else None

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
        """Start the module so that it outlives this process, and wait until it answers.

        None of it may run any more. The log goes on; one of 10 MB is set aside.
        """
        self.ready_file.unlink(missing_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > LARGEST_LOG_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        options = [*arguments, "--ready-file", str(self.ready_file)]
        with self.log_file.open("a") as log:
            self._logged_before = log.tell()
            process = subprocess.Popen(
                python_module(self.module, *options),
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


# The worker of the private server, which gives vectors to what is written by SQL.


class WorkerProcess(ServiceProcess):
    """The worker of one data folder."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "worker", "pgblend worker")
        self._directory = directory

    def start(self, database_url: str) -> RunningService:
        """Start a worker that outlives this process.

        It gives way to `pgblend ingest`, which embeds what it has stored itself.
        """
        require("gateway")
        self.stop()
        environment = os.environ | {
            "PGBLEND_DATABASE_URL": database_url,
            DATA_DIRECTORY_VARIABLE: str(self._directory),
        }
        arguments = ["worker", "--concurrency", "1", "--gives-way"]
        return self.run(arguments, environment, lambda _: True)


# The process in which commands run that need not start anew (cli/base/prefork.py).


class CommandsProcess(ServiceProcess):
    """The process of one data folder that runs commands."""

    module = "pgblend.cli.operate.prefork_server"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "commands", "the process that runs commands")
        self._directory = directory

    def start(self) -> RunningService:
        """Start one that outlives this process."""
        self.stop()
        environment = {DATA_DIRECTORY_VARIABLE: str(self._directory)}
        return self.run([str(self._directory)], environment, lambda _: True)


# The model gateway as a process of the private server: start it, find it again, stop it.

DATABASE_VARIABLE = "PGBLEND_GATEWAY_DATABASE_URL"
HEALTH_TIMEOUT_SECONDS = 2


class GatewayProcess(ServiceProcess):
    """The gateway of one data folder."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "gateway", "the gateway")
        self._directory = directory
        self.env_file = directory / "gateway.env"

    def find(self) -> RunningService | None:
        """Return the gateway if it runs and answers; a stale ready file deceives nobody.

        One that wants no token, as those of earlier versions, is none.
        """
        announced = self.announced()
        guarded = {p.pid for p in self.processes() if "--token-file" in p.info["cmdline"]}
        if announced is None or announced.pid not in guarded:
            return None
        return announced if self._answers(announced) else None

    def start(
        self,
        account: Account,
        database_url: str | None = None,
        log_level: str | None = None,
        port: int | None = None,
    ) -> RunningService:
        """Start a gateway that outlives this process, and wait until it can serve.

        It listens on `port` where that is free: other databases have its address as well. Without a
        log level it has that of the one that runs. Its token is a new one, for it and the server's
        `account`. Whoever took its port since the last one ended may have been shown the old one.
        With a URL it keeps its logs in that database; another one in the environment comes first.
        """
        require("gateway")
        environment = {}
        if database_url and DATABASE_VARIABLE not in os.environ:
            environment[DATABASE_VARIABLE] = database_url
        log_level = log_level or self._log_level()
        self.stop()
        keep_token(self._directory, account, new_token())
        return self.run(self._arguments(log_level, port), environment, self._serves)

    def _log_level(self) -> str | None:
        """Return the log level that the running gateway was started with."""
        for process in self.processes():
            given = process.info["cmdline"]
            if "--log-level" in given:
                return str(given[given.index("--log-level") + 1])
        return None

    def _arguments(self, log_level: str | None, port: int | None) -> list[str]:
        """Preload, for the first search has no time to wait for the local model."""
        options = ["--port", str(choose_port(None, port)), "--preload"]
        options += ["--token-file", str(token_file(self._directory))]
        if log_level is not None:
            options += ["--log-level", log_level]
        if self.env_file.exists():
            options += ["--env-file", str(self.env_file)]
        return ["gateway", *options]

    def _answers(self, gateway: RunningService) -> bool:
        """Tell whether it answers; its pid shows that nobody else took over the port."""
        health = ask_health(gateway.url, read_own_token(self._directory))
        return (health or {}).get("pid") == gateway.pid

    def _serves(self, gateway: RunningService) -> bool:
        """Tell whether it answers, and loads nothing any more that it needs for calls."""
        health = ask_health(gateway.url, read_own_token(self._directory)) or {}
        states = [*(health.get("models") or {}).values(), health.get("providers")]
        return health.get("pid") == gateway.pid and "loading" not in states


def log_address(url: str) -> str:
    """Return where a gateway takes the log of searches: the setting log_address for its URL."""
    return f"{url}.log" if url.startswith("unix:") else url.removeprefix("http://")


def ask_health(url: str, token: str | None) -> dict[str, Any] | None:
    """Ask a gateway for its health, past any proxy; None when it does not answer."""
    try:
        with gateway_client(url, token, HEALTH_TIMEOUT_SECONDS) as client:
            answer = answer_json(client.get("/health").raise_for_status())
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return answer if isinstance(answer, dict) else {}


# The HTTP door of the private server, whose page `pgblend open` opens.

LOGIN = "pgblend_door"
PAGE_ROLE = "pgblend_admin"  # what the server's owner may read, without being a superuser
_PORT = 8767
_DATABASE_VARIABLE = "PGBLEND_SERVE_DATABASE_URL"
_HAS_LOGIN: LiteralString = "SELECT true FROM pg_catalog.pg_roles WHERE rolname = %(login)s"
_MAKE_LOGIN: LiteralString = "CREATE ROLE pgblend_door LOGIN NOINHERIT"
_GRANT: LiteralString = "GRANT pgblend_serve, pgblend_admin TO pgblend_door"
# A password is no parameter of ALTER ROLE.
_CHANGE: LiteralString = "SELECT format('ALTER ROLE pgblend_door PASSWORD %%L', %(password)s::text)"


class DoorProcess(ServiceProcess):
    """The door of one data folder."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "serve", "pgblend serve")
        self._directory = directory

    def find(self) -> RunningService | None:
        """Return the door if it runs, and reaches the database."""
        announced = self.announced()
        pids = {process.pid for process in self.processes()}
        if announced is None or announced.pid not in pids:
            return None
        return announced if self._answers(announced) else None

    def start(
        self, connection: Connection, port: int, own_port: int | None = None
    ) -> RunningService:
        """Start a door to the server on `port`: where it was, else where it usually is.

        Where somebody else is there, it takes another port.
        Its login has a new password, which nobody else knows.
        """
        require("gateway")
        password = secrets.token_urlsafe(24)
        _keep_login(connection, password)
        self.stop()
        environment = {
            _DATABASE_VARIABLE: f"postgresql://{LOGIN}:{password}@{HOST}:{port}/{DATABASE}",
            DATA_DIRECTORY_VARIABLE: str(self._directory),
        }
        chosen = choose_port(None, own_port if own_port and is_free(own_port) else _PORT)
        return self.run(["serve", "--port", str(chosen)], environment, self._answers)

    def _answers(self, door: RunningService) -> bool:
        """Tell whether it answers; its pid shows that nobody else took over the port."""
        return (ask_health(door.url, None) or {}).get("pid") == door.pid


def _keep_login(connection: Connection, password: str) -> None:
    """Make the door's login, or give it another password."""
    if not fetch_value(connection, _HAS_LOGIN, {"login": LOGIN}):
        connection.execute(_MAKE_LOGIN)
    change: str = fetch_value(connection, _CHANGE, {"password": password})
    connection.execute(change.encode())
    connection.execute(_GRANT)
