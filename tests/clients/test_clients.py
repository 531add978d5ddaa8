"""The examples of docs/clients.md, each in its client's own environment, as a reader over TCP.

Once where the program is in the server, once where it is not, through the door: equal rows.
"""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from clients.conftest import Environment, Login, granted, login_of, run_or_skip
from conftest import Server
from psycopg.conninfo import make_conninfo

from support.documentation import DOCS, clean, matches
from support.door import door_process
from support.outside import take_python_away

pytestmark = [pytest.mark.slow, pytest.mark.local_model]
PAGE = (DOCS / "clients.md").read_text(encoding="utf-8")
_SECTION = re.compile(
    r"^## (.+)\n(?:(?!^## ).*\n)*?^```(?!text)\w+\n((?:.*\n)*?)^```\n+^```text\n((?:.*\n)*?)^```$",
    re.MULTILINE,
)
SECTIONS = {title: (code, output) for title, code, output in _SECTION.findall(PAGE)}
PGJDBC = "/usr/share/java/postgresql.jar"  # Debian: libpostgresql-jdbc-java
LIBRARIES = {
    "psycopg": ["psycopg[binary]"],
    "asyncpg": ["asyncpg"],
    "SQLAlchemy 2": ["sqlalchemy>=2,<3", "psycopg[binary]"],
    "SQLAlchemy 1.4": ["sqlalchemy<2", "psycopg2-binary"],
    "pandas": ["pandas", "sqlalchemy>=2,<3", "psycopg[binary]"],
    "ODBC": ["pyodbc"],
}
WAYS = {
    "psycopg": ["psycopg[binary]"],
    "asyncpg": ["asyncpg"],
    "sqlalchemy": ["sqlalchemy>=2,<3", "psycopg[binary]", "psycopg2-binary"],
    "pandas": ["pandas", "sqlalchemy>=2,<3", "psycopg[binary]"],
    "django": ["django", "psycopg[binary]"],
    "odbc": ["pyodbc"],
}
Programs = Callable[[str, Path, Environment], list[str | Path]]


def test_every_section_is_run() -> None:
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == list(SECTIONS)


@pytest.fixture(scope="module")
def reader_outside(server: Server, handbook_template: str) -> Iterator[Login]:
    """A reader of the handbook on a server without PL/Python, who comes through a door."""
    with server.database(f"{handbook_template}_outside", handbook_template) as url:
        take_python_away(url)
        for login in granted(server, url, "pgblend_reader"):
            there = make_conninfo(url, user=login.user, password=login.password)
            with door_process(there) as (through, _):
                yield login_of(through)


@pytest.mark.parametrize("place", ["reader", "reader_outside"])
@pytest.mark.parametrize("client", SECTIONS)
def test_a_client_searches(
    client: str,
    place: str,
    request: pytest.FixtureRequest,
    environment: Environment,
    tmp_path: Path,
) -> None:
    code, shown = SECTIONS[client]
    reader: Login = request.getfixturevalue(place)
    for placeholder, value in {
        "localhost:5432/mydb": f"{reader.host}:{reader.port}/{reader.database}",
        "SERVER=localhost;PORT=5432;DATABASE=mydb;UID=app;PWD=secret": (
            f"SERVER={reader.host};PORT={reader.port};DATABASE={reader.database}"
            f";UID={reader.user};PWD={reader.password}"
        ),
        '"app", "secret"': f'"{reader.user}", "{reader.password}"',
    }.items():
        code = code.replace(placeholder, value)
    done = subprocess.run(
        program(client, code, tmp_path, environment),
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(tmp_path), **reader.variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert matches(shown, done.stdout), clean(done.stdout) + done.stderr


DRIVERS = Path(__file__).parent / "drivers"


@pytest.mark.parametrize(
    "driver",
    ["psycopg", "asyncpg", "sqlalchemy", "pandas", "django", "odbc", "node-postgres", "JDBC"],
)
def test_a_driver_s_ways_find_the_same_through_the_door(
    driver: str,
    reader: Login,
    reader_outside: Login,
    environment: Environment,
    tmp_path: Path,
) -> None:
    command = driving(driver, tmp_path, environment)
    shown = []
    for login in (reader, reader_outside):
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **login.variables},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        shown.append(done.stdout)
    assert "rollback.md" in shown[0]
    assert shown[0] == shown[1]


def driving(driver: str, folder: Path, environment: Environment) -> list[str | Path]:
    """Return the command that searches by a driver in all its ways."""
    if driver == "JDBC":
        return program("JDBC", (DRIVERS / "Drivers.java").read_text(), folder, environment)
    if driver == "node-postgres":
        return program(driver, (DRIVERS / "node.cjs").read_text(), folder, environment)
    if driver == "odbc":
        needs("odbcinst", "odbc-postgresql")
    return [environment(*WAYS[driver]), DRIVERS / "drivers.py", driver]


def program(client: str, code: str, folder: Path, environment: Environment) -> list[str | Path]:
    """Write an example into a file and return the command that runs it."""
    if client in LIBRARIES:
        if client == "ODBC":
            needs("odbcinst", "odbc-postgresql")
        return [environment(*LIBRARIES[client]), written(folder / "search.py", code)]
    if client == "JDBC":
        needs("javac", "a JDK")
        if not Path(PGJDBC).exists():
            pytest.skip(f"no {PGJDBC} (Debian: libpostgresql-jdbc-java)")
        return ["java", "-cp", PGJDBC, written(folder / "Search.java", code)]
    if client == "node-postgres":
        needs("npm", "npm")
        run_or_skip(("pg",), "npm", "install", "--silent", "--no-audit", "pg", folder=folder)
        return ["node", written(folder / "search.cjs", code)]
    return ["bash", "-eu", written(folder / "search.sh", code)]


def needs(command: str, package: str) -> None:
    """Skip where a command is not installed."""
    if shutil.which(command) is None:
        pytest.skip(f"no {package}: there is no {command} here")


def written(path: Path, text: str) -> Path:
    """Write a file and return its path."""
    path.write_text(text, encoding="utf-8")
    return path
