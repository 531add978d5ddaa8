"""What clients let people pick: in the schema `blend` what tests/golden/public.txt has, no more.

Private objects show under `pgblend` and `pgblend_data`: readers need both, since a search runs
with the caller's rights.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clients.conftest import Environment, login_of
from contract.conftest import GOLDEN
from sqlalchemy import create_engine, inspect
from sqlalchemy.engine import URL

PICKERS = Path(__file__).resolve().parents[1] / "support" / "pickers.py"
LIBRARIES = ("sqlalchemy<2", "psycopg2-binary", "pyodbc", "jpype1")
PSQLODBC = "/usr/lib/*-linux-gnu/odbc/psqlodbcw.so"  # Debian: odbc-postgresql
PGJDBC = "/usr/share/java/postgresql.jar"  # Debian: libpostgresql-jdbc-java


@pytest.fixture(scope="module")
def public() -> dict[str, set[str]]:
    lines = (GOLDEN / "public.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" | ") for line in lines]
    return {kind: {name for k, name in pairs if k == kind} for kind in ("function", "view")}


@pytest.fixture
def reader(url_as: Callable[..., str]) -> list[str]:
    """Host, port, database, user and password of a login that may read."""
    return list(login_of(url_as("pgblend_reader")).variables.values())


def test_sqlalchemy_2(reader: list[str], public: dict[str, set[str]]) -> None:
    host, port, database, user, password = reader
    url = URL.create("postgresql+psycopg", user, password, host, int(port), database)
    found = inspect(create_engine(url))
    assert set(found.get_schema_names()) >= {"blend", "pgblend", "pgblend_data"}
    assert set(found.get_view_names("blend")) == public["view"]
    assert found.get_table_names("blend") == []
    private = found.get_view_names("pgblend") + found.get_table_names("pgblend")
    assert all(name.startswith("_") for name in private)


@pytest.fixture(scope="module")
def clients(environment: Environment) -> Path:
    """The Python of an environment with other clients: SQLAlchemy 1.4 and bridges."""
    return environment(*LIBRARIES)


def listed(python: Path, *arguments: str) -> dict[str, dict[str, list[str]]]:
    """Schema, tables or routines, names."""
    done = subprocess.run([python, PICKERS, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, list[str]]] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_sqlalchemy_1_4(clients: Path, reader: list[str], public: dict[str, set[str]]) -> None:
    """It hides schemas LIKE 'pg_%', where _ is any letter: Superset could not pick pgblend."""
    found = listed(clients, "sqlalchemy", *reader)
    assert found.keys() == {"blend", "public"}
    assert set(found["blend"]["tables"]) == public["view"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "driver"), [("odbc", PSQLODBC), ("jdbc", PGJDBC)], ids=["odbc", "jdbc"]
)
def test_drivers(
    clients: Path, reader: list[str], public: dict[str, set[str]], client: str, driver: str
) -> None:
    files = sorted(Path("/").glob(driver[1:]))
    if not files or (client == "jdbc" and shutil.which("java") is None):
        pytest.skip(f"no {driver}, or no Java for it")
    found = listed(clients, client, *reader, str(files[0]))
    assert set(found["blend"]["tables"]) == public["view"]
    assert set(found["blend"]["routines"]) == public["function"]
    private = found["pgblend"]["tables"] + found["pgblend"]["routines"]
    assert all(name.startswith("_") for name in private)
    # Policies ask these, so they stay when other routines are made anew.
    assert found["pgblend_data"]["routines"] == ["readable_bits", "signature"]
