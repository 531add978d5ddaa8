"""The model gateway as a process of the private server: start it, find it again, stop it."""

import os
from pathlib import Path
from typing import Any

import httpx

from pgblend.cli.extras import require
from pgblend.cli.gateway_http import answer_json, gateway_client
from pgblend.cli.server.account import Account
from pgblend.cli.server.gateway_token import (
    keep_token,
    new_token,
    read_own_token,
    token_file,
)
from pgblend.cli.server.ports import choose_port
from pgblend.cli.server.service_process import RunningService, ServiceProcess

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

        It listens on `port` where that is free: other databases have its address as well.
        Without a log level it has that of the one that runs.
        Its token is a new one, for it and the server's `account`: whoever took its port since the
        last one ended may have been shown that one's. With a URL it keeps its logs in that
        database; another one in the environment comes first.
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
