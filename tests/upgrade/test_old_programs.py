"""A newer pgblend migrates; the gateway and the door of the old one go on, its commands refuse.

The newer one is this tree with a released revision more, a column more in the tables that the
gateway writes, and a routine that changed.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.types.json import Jsonb

from pgblend.cli.main import cli
from pgblend.cli.revision import known_revisions
from pgblend.migrations import runner
from support.database import Database, add_documents, add_space, embed_waiting
from support.model_provider import GatewayProcess, ModelProvider
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of
from support.waiting import wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CHANGES = "".join(
    f'    op.execute("ALTER TABLE pgblend_data.{table} ADD COLUMN newer text")\n'
    for table in ("model_call", "search_log")
)
CALLS = "SELECT count(*) FROM pgblend_data.model_call WHERE outcome = 'ok'"
FOUND = "SELECT chunk_id, score, degraded FROM blend.hybrid_search('wine in the cellar')"


@pytest.fixture
def newer_pgblend(tmp_path: Path) -> Callable[..., str]:
    """Run the newer pgblend."""
    package = tmp_path / "pgblend"
    for name in ("cli", "migrations", "plpy", "sql"):
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pgblend.cli.main", *arguments],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    if known_revisions()[-1] not in runner.released():
        run("migrate", "freeze")
    run("migrate", "revise", "newer")
    (revision,) = (package / "migrations" / "versions").glob("*_newer.py")
    upgrade = "def upgrade() -> None:\n"
    revision.write_text(revision.read_text().replace(upgrade, upgrade + CHANGES))
    for body in (package / "sql").rglob("hybrid_search.sql"):
        body.write_text(body.read_text().replace("-- hybrid_search: ", "-- hybrid_search: newer: "))
    return run


def in_a_new_session(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return Database(connection).rows(query)


def test_the_old_gateway_and_door_serve_the_new_database(
    connection: psycopg.Connection,
    database_url: str,
    url_as: Callable[..., str],
    server,  # type: ignore[no-untyped-def]
    newer_pgblend: Callable[..., str],
) -> None:
    db = Database(connection)
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("a", "Wine", "The wine in the cellar."), ("b", "Sea", "The sea.")])
    add_space(db)
    embed_waiting(db)
    tenant = f"pgblend_tenant_{os.getpid()}"
    writes = {"PGBLEND_GATEWAY_DATABASE_URL": url_as("pgblend_gateway")}
    with (
        ModelProvider() as provider,
        door_role(connection, f"pgblend_door_{os.getpid()}", tenant) as login,
        GatewayProcess("--cache-size", "0", provider=provider, environment=writes) as gateway,
        ServeProcess(
            server.url(connection.info.dbname, user=login, password=DOOR_PASSWORD)
        ) as door,
    ):
        db.rows("SELECT grant_collection('c', %s)", tenant)
        db.rows("SELECT set_setting('gateway_url', %s)", Jsonb(gateway.url))
        with door.client(token_of(connection, tenant)) as client:
            before = in_a_new_session(database_url, FOUND)
            assert [degraded for _, _, degraded in before] == [[], []]
            open_session = client.post("/v1/search", json={"query": "wine"}).json()["results"]
            wait_until(lambda: db.value(CALLS))
            calls = db.value(CALLS)

            newer_pgblend("--database-url", database_url, "migrate", "up")
            newest = f"{int(known_revisions()[-1]) + 1:04d}"
            status = newer_pgblend("--database-url", database_url, "migrate", "status")
            assert newest in status

            assert in_a_new_session(database_url, FOUND) == before
            again = client.post("/v1/search", json={"query": "wine"}).json()["results"]
            assert again == open_session
            wait_until(lambda: db.value(CALLS) > calls)
            refused = CliRunner().invoke(cli, ["--database-url", database_url, "search", "wine"])
            assert refused.exit_code == 3
            assert f"at revision {newest}, which this version" in refused.stderr
    with (
        ModelProvider() as provider,
        GatewayProcess("--cache-size", "0", provider=provider, environment=writes) as started_after,
    ):
        db.rows("SELECT set_setting('gateway_url', %s)", Jsonb(started_after.url))
        assert in_a_new_session(database_url, FOUND) == before
