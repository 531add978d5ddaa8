"""The worker of the private server, which gives vectors to what is written by SQL."""

import os
from pathlib import Path

from pgblend.cli.extras import require
from pgblend.cli.server.service_process import RunningService, ServiceProcess
from pgblend.cli.server.state import DATA_DIRECTORY_VARIABLE


class WorkerProcess(ServiceProcess):
    """The worker of one data folder."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "worker", "pgblend worker")
        self._directory = directory

    def find(self) -> RunningService | None:
        """Return the worker if it runs."""
        announced = self.announced()
        pids = {process.pid for process in self.processes()}
        return announced if announced is not None and announced.pid in pids else None

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
