"""The gateway's token is used and is nowhere to be read."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator

import psycopg
import pytest

from pgblend.cli.base.database import connect
from pgblend.migrations import runner
from support.database import Database
from support.model_library import WEAK, fill, search, use_models
from support.model_provider import Behaviour, GatewayProcess, ModelProvider
from support.server import throwaway_server

TOKEN = "planted-secret-0123456789"


@pytest.fixture(scope="module")
def own_server() -> Iterator[Database]:
    """A server of its own, whose data directory holds the token and whose log tells all."""
    with throwaway_server() as parameters:
        url = psycopg.conninfo.make_conninfo(**parameters, dbname="postgres")
        with psycopg.connect(url, autocommit=True) as postgres:
            postgres.execute("CREATE DATABASE secrets")
            postgres.execute(f"COPY (SELECT '{TOKEN}') TO PROGRAM 'umask 077; cat >"
                             " pgblend_gateway_token'")  # fmt: skip
            postgres.execute("ALTER SYSTEM SET log_statement = 'all'")
            postgres.execute("ALTER SYSTEM SET log_min_messages = 'debug1'")
            postgres.execute("SELECT pg_reload_conf()")
        runner.upgrade(psycopg.conninfo.make_conninfo(url, dbname="secrets"))
        with connect(psycopg.conninfo.make_conninfo(url, dbname="secrets")) as connection:
            yield Database(connection)


@pytest.mark.fault("a token looked for in logs, dumps and views", "it is nowhere")
@pytest.mark.slow
def test_the_token_is_nowhere(own_server: Database) -> None:
    db = own_server
    watched: list[str] = []
    with ModelProvider() as provider, GatewayProcess(provider=provider, token=TOKEN) as gateway:
        fill(db)
        use_models(db, gateway, provider)
        rows = search(db, "degraded, arms", {"mode": "thorough", **WEAK})
        assert rows[0][0] == []  # the token let it in
        assert "rerank" in rows[0][1]
        provider.behaviour = Behaviour(status=500, error_message="told to fail")
        rows += search(db, "degraded", {"mode": "thorough", **WEAK})
        watched.append(str(db.error("SELECT expand_query('other words')").message_primary))
        watched.append(json.dumps(rows))
        watched += [str(row) for row in db.rows("SELECT * FROM pg_stat_activity")]
        watched += [str(row) for row in db.rows("SELECT name, value::text FROM settings")]
        watched += [gateway.stderr, *db.warnings()]
    log = "SELECT pg_read_file(d.path || '/' || f) FROM (SELECT current_setting('log_directory')"
    log += " AS path) AS d CROSS JOIN LATERAL pg_ls_dir(d.path) AS f"
    watched += db.column(log)
    assert any("hybrid_search" in text for text in watched)
    if dump := shutil.which("pg_dump"):
        watched.append(
            subprocess.run(
                [dump, "--inserts", db.url], capture_output=True, text=True, env=dict(os.environ)
            ).stdout
        )
    assert not [text for text in watched if TOKEN in text]
