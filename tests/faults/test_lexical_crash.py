"""kill -9 of the whole server in the middle of a seal: what was committed is there and found."""

import threading
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from pgblend.cli.operate.cluster import Cluster
from pgblend.migrations import runner
from support.server import kill_server, temporary_cluster

CHUNKS = 20_000
SEARCH = """
    SELECT count(*), sum(score) FROM lexical_search(
        'word7', 10000, options => '{"candidate_depth": 10000, "dedup": "off",
            "timeouts_ms": {"lexical": 60000}}')
"""
LAST = """
    SELECT source_key FROM lexical_search('crash', options => '{"timeouts_ms": {"lexical": 60000}}')
"""
STATUS = "SELECT status, chunks, sealed, pending, segments FROM lexical_status()"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of the test's own, as durable as a real one."""
    with temporary_cluster(durable=True) as cluster:
        yield cluster


@pytest.mark.fault(
    "kill -9 of the server in a seal or rebuild", "what was committed is there and found"
)
@pytest.mark.slow
@pytest.mark.parametrize("call", ["lexical_seal('crash')", "lexical_rebuild('crash')"])
def test_a_killed_server_loses_nothing(cluster: Cluster, call: str) -> None:
    url = make_conninfo("", **cluster.connection_parameters())  # type: ignore[arg-type]
    runner.upgrade(url)
    with connect(url) as connection:
        connection.execute("SELECT add_collection('crash', 'simple')")
        # At this isolation level nothing is sealed at commit.
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute(
            "SELECT ingest_document('crash', d::text, 'x', chunks => (SELECT jsonb_agg("
            "jsonb_build_object('content', concat_ws(' ', 'word' || mod(n, 50), 'unit' || n * d)))"
            " FROM generate_series(1, %s) AS n)) FROM generate_series(1, 20) AS d",
            [CHUNKS // 20],
        )
        connection.execute("COMMIT")
        if "rebuild" in call:
            connection.execute("SELECT lexical_seal('crash')")
        before = connection.execute(STATUS).fetchone()
        expected = connection.execute(SEARCH).fetchone()
        assert expected is not None
        assert expected[0] == CHUNKS / 50

    def index() -> None:
        with suppress(psycopg.OperationalError), connect(url) as sealer:
            sealer.execute(f"SELECT {call}")
            finished.append(True)

    finished: list[bool] = []
    sealing = threading.Thread(target=index)
    # What a seal writes last waits, so that it cannot be done before the server is killed.
    holder = psycopg.connect(url)
    holder.execute("LOCK TABLE pgblend_data.posting IN SHARE MODE")
    with connect(url) as watcher:
        sealing.start()
        while watcher.execute(STATUS).fetchall()[0][0] != "building":
            assert sealing.is_alive()
        watcher.execute("SELECT ingest_document('crash', 'last', 'committed before the crash')")
        kill_server(cluster)
        sealing.join()
    holder.close()
    assert not finished

    cluster.start()
    url = make_conninfo("", **cluster.connection_parameters())  # type: ignore[arg-type]
    with connect(url) as connection:
        after = connection.execute(STATUS).fetchone()
        assert before is not None
        assert after == (before[0], before[1] + 1, before[2], before[3] + 1, before[4])
        assert connection.execute(LAST).fetchall() == [("last",)]
        connection.execute("SELECT delete_document('crash', 'last')")
        assert connection.execute(SEARCH).fetchone() == expected
        connection.execute(f"SELECT {call}")
        sealed = connection.execute(STATUS).fetchone()
        assert sealed is not None
        assert sealed[:4] == ("ready", CHUNKS, CHUNKS, 0)
        assert connection.execute(SEARCH).fetchone() == expected
