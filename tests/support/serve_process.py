"""`pgblend serve` as a real process, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
from psycopg import sql

from pgblend.cli.doors.tokens import SCOPES, Grant, make_token
from support.gateway_process import GatewayProcess

DOOR_PASSWORD = "secret"


class ServeProcess(GatewayProcess):
    """`pgblend serve` as a real process on a free port; a context manager."""

    command = "serve"

    def __init__(
        self,
        login_url: str,
        *options: str,
        pass_fds: tuple[int, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        patient = ("--rate", "100000", "--burst", "100000")
        super().__init__("--login-url", login_url, *patient, *options, environment=environment)
        self.pass_fds = pass_fds

    def client(self, token: str | None = None, **more: Any) -> httpx.Client:
        """Return a client that shows a token."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False, **more)


def make_door_role(admin: psycopg.Connection, name: str, *tenants: str) -> list[sql.Identifier]:
    """Make the login of a door, and tenants as readers; return all names."""
    names = [sql.Identifier(role) for role in (name, *tenants)]
    for tenant in names[1:]:
        admin.execute(sql.SQL("CREATE ROLE {} IN ROLE pgblend_reader").format(tenant))
    admin.execute(
        sql.SQL("CREATE ROLE {} LOGIN NOINHERIT PASSWORD {} IN ROLE {}").format(
            names[0],
            sql.Literal(DOOR_PASSWORD),
            sql.SQL(", ").join([sql.Identifier("pgblend_serve"), *names[1:]]),
        )
    )
    if admin.info.parameter_status("is_superuser") != "on":
        # Needed to make their tokens, and to drop what they own.
        admin.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.SQL(", ").join(names)))
    return names


@contextmanager
def door_role(admin: psycopg.Connection, name: str, *tenants: str) -> Iterator[str]:
    """Make the login of a door, and tenants as readers; yields its name."""
    names = make_door_role(admin, name, *tenants)
    try:
        yield name
    finally:
        for role in names:
            admin.execute(sql.SQL("DROP OWNED BY {}").format(role))
            admin.execute(sql.SQL("DROP ROLE {}").format(role))


def token_of(admin: psycopg.Connection, role: str, *scopes: str, days: int = 1) -> str:
    """Return a new token of a role, for all scopes where none is named."""
    return make_token(admin, Grant(f"test of {role}", role, scopes or SCOPES, days))[1]


def told(client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
    """Return an answer without times and ids of searches."""
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return _timeless(response.json())


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in _OF_A_CALL}
    return [_timeless(each) for each in value] if isinstance(value, list) else value


_OF_A_CALL = {"ms", "start_ms", "total_ms", "models_ms", "search_id"}
