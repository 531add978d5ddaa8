"""Clients of PostgreSQL, each in an environment of its own, and a login that may read."""

import subprocess
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from conftest import Server, login_role
from docs.conftest import handbook_template, provided_gateway
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.base.database import connect

__all__ = ["handbook_template", "provided_gateway"]

# Makes the Python of an environment that has libraries; the test is skipped where one is not to
# be had.
Environment = Callable[..., Path]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made: dict[tuple[str, ...], Path] = {}

    def make(*libraries: str) -> Path:
        if libraries not in made:
            folder = tmp_path_factory.mktemp("environment")
            venv.create(folder, with_pip=True)
            run_or_skip(libraries, folder / "bin" / "pip", "install", "--quiet", *libraries)
            made[libraries] = folder / "bin" / "python"
        return made[libraries]

    return make


def run_or_skip(what: tuple[str, ...], *command: str | Path, folder: Path | None = None) -> None:
    """Run what gets packages; skip the test, by their names, where they are not to be had."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no {', '.join(what)}: {(done.stderr or done.stdout)[-300:]}")


@dataclass(frozen=True)
class Login:
    """Where a role logs in, by password over TCP."""

    host: str
    port: str
    database: str
    user: str
    password: str

    @property
    def variables(self) -> dict[str, str]:
        """What libpq's clients read."""
        return {
            "PGHOST": self.host,
            "PGPORT": self.port,
            "PGDATABASE": self.database,
            "PGUSER": self.user,
            "PGPASSWORD": self.password,
        }


def login_of(url: str) -> Login:
    """Return the parts of a URL."""
    parts = conninfo_to_dict(url)
    return Login(*(str(parts[key]) for key in ("host", "port", "dbname", "user", "password")))


@pytest.fixture(scope="module")
def handbook_url(server: Server, handbook_template: str) -> Iterator[str]:
    """A database with the handbook, as superuser."""
    with server.database(f"{handbook_template}_clients", handbook_template) as url:
        yield url


@pytest.fixture(scope="module")
def reader(server: Server, handbook_url: str) -> Iterator[Login]:
    """A reader of the handbook."""
    yield from granted(server, handbook_url, "pgblend_reader")


def granted(server: Server, url: str, group: str) -> Iterator[Login]:
    """Make a login that is a member of a role and may read the handbook."""
    database = str(conninfo_to_dict(url)["dbname"])
    with login_role(server, database, group) as of_role, connect(url) as admin:
        login = login_of(of_role)
        admin.execute("SELECT blend.grant_collection('handbook', %s)", [login.user])
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(psycopg.conninfo.make_conninfo(of_role, password="wrong"))
        yield login
