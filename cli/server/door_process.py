"""The HTTP door of the private server, whose page `pgblend open` opens."""

import secrets
from pathlib import Path
from typing import LiteralString

from pgblend.cli.database import Connection, fetch_value
from pgblend.cli.extras import require
from pgblend.cli.server.gateway_process import ask_health
from pgblend.cli.server.ports import choose_port, is_free
from pgblend.cli.server.service_process import RunningService, ServiceProcess
from pgblend.cli.server.state import DATA_DIRECTORY_VARIABLE, DATABASE, HOST

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
