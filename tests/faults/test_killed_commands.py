"""kill -9 of commands in the middle, and of the server below them: nothing is lost or half done."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from pgblend.cli.operate.cluster import Cluster
from pgblend.migrations import runner
from support.catalogue import revisions, schema
from support.database import Database
from support.model_provider import Behaviour, GatewayProcess, ModelProvider
from support.release_tree import Tree, next_release
from support.server import kill_server, temporary_cluster
from support.waiting import wait_until

pytestmark = pytest.mark.slow

CHUNKS = 300
FIND = "SELECT source_key, score FROM vector_search('walrus 7', 20)"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of the test's own, as durable as a real one."""
    with temporary_cluster(durable=True) as cluster:
        yield cluster


def url_of(cluster: Cluster) -> str:
    """The URL of its database, whose port may be another after a restart."""
    return make_conninfo("", **cluster.connection_parameters())  # type: ignore[arg-type]


def start(url: str, *arguments: str, tree: Tree | None = None) -> subprocess.Popen[str]:
    """Start `pgblend ARGUMENTS` as a process, of a tree of its own where one is given."""
    given = ["--database-url", url, *arguments]
    return subprocess.Popen(
        tree.command(*given) if tree else [sys.executable, "-m", "pgblend.cli.main", *given],
        env=tree.environment() if tree else None,
        cwd=tree.root if tree else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill(process: subprocess.Popen[str], cluster: Cluster, what: str) -> None:
    """End the command, or the server below it, with SIGKILL; the server then runs again."""
    if what == "command":
        process.kill()
        process.communicate()
        return
    kill_server(cluster)
    process.communicate()
    assert process.returncode == 3  # it says that the server is gone
    cluster.start()


@contextmanager
def lock_held(url: str, table: str) -> Iterator[None]:
    """Hold a lock that lets readers of a table go on, and nothing else."""
    holder = psycopg.connect(url)
    holder.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE".encode())
    try:
        yield
    finally:
        with suppress(psycopg.OperationalError):
            holder.close()


@pytest.mark.fault("kill -9 of space fill, or of the server below it", "every vector once, found")
@pytest.mark.parametrize("what", ["command", "server"])
def test_a_killed_fill_goes_on_where_it_was(cluster: Cluster, what: str) -> None:
    runner.upgrade(url_of(cluster))
    with ModelProvider() as provider, GatewayProcess(provider=provider) as gateway:
        with connect(url_of(cluster)) as connection:
            db = Database(connection)
            db.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway.url)
            db.rows("SELECT add_collection('sea')")
            db.rows(
                "SELECT count(*) FROM generate_series(1, %s) AS n,"
                " ingest_document('sea', n::text, 'walrus ' || n)",
                CHUNKS,
            )
            for name in ("whole", "killed"):
                db.rows("SELECT create_embedding_space(%s, %s, 384)", name, provider.model)
        output, errors = start(url_of(cluster), "space", "fill", "whole").communicate()
        assert "Traceback" not in output + errors
        provider.behaviour = Behaviour(delay_seconds=0.2)
        process = start(url_of(cluster), "space", "fill", "killed")
        with connect(url_of(cluster)) as watcher:
            count = "SELECT count(*) FROM pgblend_data.embedding_killed"
            wait_until(lambda: Database(watcher).value(count), process=process)
        kill(process, cluster, what)
        with connect(url_of(cluster)) as connection:
            before = Database(connection).value(count)
            assert 0 < before < CHUNKS
        provider.reset()
        again = start(url_of(cluster), "space", "fill", "killed")
        _, errors = again.communicate()
        assert again.returncode == 0, errors
        with connect(url_of(cluster)) as connection:
            db = Database(connection)
            assert db.value(count) == CHUNKS
            assert db.value("SELECT count(*) FROM pgblend_data.embedding_queue") == 0
            found = []
            for name in ("whole", "killed"):
                db.rows("SELECT switch_embedding_space(%s)", name)
                found.append(db.rows(FIND))
    assert len(found[0]) == 20
    assert found[0] == found[1]


@pytest.mark.fault(
    "kill -9 of migrate up, or of the server below it", "a whole revision; up goes on"
)
@pytest.mark.parametrize("what", ["command", "server"])
def test_a_killed_migration_leaves_a_whole_revision(
    cluster: Cluster, what: str, tmp_path: Path
) -> None:
    url, newer = url_of(cluster), next_release(tmp_path)
    runner.upgrade(url)
    before = schema(url)
    with connect(url) as connection:
        database = connection.info.dbname
        connection.execute("SELECT add_collection('kept')")
        connection.execute("SELECT ingest_document('kept', 'k', 'some words')")
    # The step cannot end before it is killed: what it writes last waits.
    locked = lock_held(url, "pgblend_data.alembic_version")
    with locked, psycopg.connect(url, autocommit=True) as watcher:
        process = start(url, "migrate", "up", tree=newer)
        waits = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
            " AND wait_event_type = 'Lock' AND query LIKE '%%alembic_version%%'"
        )
        wait_until(lambda: Database(watcher).value(waits, database), process=process)
        kill(process, cluster, what)
    url = url_of(cluster)
    with psycopg.connect(url, autocommit=True) as connection:
        others = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%alembic_version%%'"
        mine = f"{others} AND pid <> pg_backend_pid() AND datname = %s"
        wait_until(lambda: Database(connection).value(mine, database) == 0)
    assert runner.status(url)["current"] == revisions()[-1]
    assert schema(url) == before
    again = start(url, "migrate", "up", tree=newer)
    _, errors = again.communicate()
    assert again.returncode == 0, errors
    status = newer.run("--database-url", url, "migrate", "status")
    assert f"current: {newer.newest}\n" in status
    assert "changed by hand: no" in status
    with connect(url, check=False) as connection:
        found = Database(connection).column("SELECT source_key FROM lexical_search('words')")
    assert found == ["k"]
