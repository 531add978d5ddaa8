"""A newer pgblend migrates; the gateway and the door of the old one go on, its commands refuse.

The newer one is this tree with a revision more, which has a column more in the tables that the
gateway writes, and a routine that changed.
"""

import os
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.types.json import Jsonb

from pgblend.cli.main import cli
from support.database import Database, add_documents, add_space, embed_waiting
from support.model_provider import GatewayProcess, ModelProvider
from support.release_tree import next_release
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of
from support.waiting import wait_until

CALLS = "SELECT count(*) FROM pgblend_data.model_call WHERE outcome = 'ok'"
FOUND = "SELECT chunk_id, score, degraded FROM blend.hybrid_search('wine in the cellar')"


def in_a_new_session(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return Database(connection).rows(query)


@pytest.mark.slow
def test_the_old_gateway_and_door_serve_the_new_database(
    connection: psycopg.Connection,
    database_url: str,
    url_as: Callable[..., str],
    server,  # type: ignore[no-untyped-def]
    tmp_path: Path,
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

            newer = next_release(tmp_path)
            newer.run("--database-url", database_url, "migrate", "up")
            assert f"current: {newer.newest}" in newer.run(
                "--database-url", database_url, "migrate", "status"
            )

            assert in_a_new_session(database_url, FOUND) == before
            again = client.post("/v1/search", json={"query": "wine"}).json()["results"]
            assert again == open_session
            wait_until(lambda: db.value(CALLS) > calls)
            refused = CliRunner().invoke(cli, ["--database-url", database_url, "search", "wine"])
            assert refused.exit_code == 3
            assert f"at revision {newer.newest}, which this version" in refused.stderr
    with (
        ModelProvider() as provider,
        GatewayProcess("--cache-size", "0", provider=provider, environment=writes) as started_after,
    ):
        db.rows("SELECT set_setting('gateway_url', %s)", Jsonb(started_after.url))
        assert in_a_new_session(database_url, FOUND) == before
