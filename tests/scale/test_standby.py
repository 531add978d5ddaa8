"""A coordinator on a read-only standby finds what the primary's finds; shards with two hosts."""

import json

import psycopg
import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.operate.cluster import Cluster
from pgblend.migrations import runner
from support.database import Database
from support.server import temporary_cluster
from support.shards import run_command
from support.standby import follow, replica, url_of

pytestmark = pytest.mark.slow

SEARCHES = (
    "SELECT * FROM hybrid_search('red wine', query_embedding => '[1,2,3,4,5,6,7,8]')",
    "SELECT * FROM lexical_search('white wine')",
    "SELECT key, value, count FROM search_facets('wine', '{$collection}')",
    "SELECT source_key FROM documents ORDER BY 1",
)


def test_a_coordinator_on_a_standby(plproxy: None) -> None:
    with temporary_cluster(wal_level="replica", max_wal_senders="4") as primary:
        urls = {name: url_of(primary, dbname=name) for name in ("whole", "b0", "b1")}
        at = url_of(primary, dbname="postgres")
        with psycopg.connect(at, autocommit=True) as admin:
            admin.execute("CREATE DATABASE whole")
            runner.upgrade(urls["whole"])
            for name in ("b0", "b1"):
                admin.execute(f"CREATE DATABASE {name} TEMPLATE whole".encode())
        with connect(urls["whole"]) as connection:
            coordinator = Database(connection)
            coordinator.rows("SELECT add_collection('books', 'english')")
            coordinator.rows("SELECT create_embedding_space('s', 'm', 8, probe => false)")
        named = (f"{name}={urls[name]}" for name in ("b0", "b1"))
        run_command(urls["whole"], "shards", "add", *named)
        for name, text in (("b0", "red wine of France"), ("b1", "wine, red and white")):
            with connect(urls[name]) as shard:
                shard.execute("SELECT ingest_document('books', %s, %s)", [name, text])
        with replica(primary) as standby:
            places = (urls["whole"], url_of(standby, dbname="whole"))
            here, there = (Database(connect(url)) for url in places)
            with here.connection, there.connection:
                follow(here, there)
                assert there.value("SELECT pg_is_in_recovery()")
                options = json.dumps({"wait_for": "0/1"})
                for search in SEARCHES:
                    assert there.rows(search) == here.rows(search), search
                    assert here.rows(search)
                assert there.rows("SELECT rank FROM lexical_search('wine', options => %s)", options)
            for first in (standby, None):
                check_two_hosts(primary, first)


def check_two_hosts(primary: Cluster, first: Cluster | None) -> None:
    """Name the primary as each shard's second host, after one that is a standby or not there."""
    of_primary = primary.connection_parameters()
    before = first.connection_parameters() if first else of_primary | {"port": "1"}
    more = {
        "host": f"{before['host']},{of_primary['host']}",
        "port": f"{before['port']},{of_primary['port']}",
        "target_session_attrs": "read-write",
    }
    url = url_of(primary, dbname="whole")
    named = (f"{name}={url_of(primary, dbname=name, **more)}" for name in ("b0", "b1"))
    run_command(url, "shards", "add", *named)
    (place,) = {option for option in options_of(url) if option.startswith("p0=")}
    assert "target_session_attrs" in place
    states = json.loads(run_command(url, "shards", "status", "--json"))["shards"]
    assert [one["state"] for one in states] == ["ready", "ready"]
    with connect(url) as connection:
        coordinator, key = Database(connection), f"two hosts {before['port']}"
        status = "SELECT status FROM ingest_document('books', %s, 'green wine')"
        assert coordinator.value(status, key) == "added"
        found = "SELECT source_key FROM lexical_search('green', options => '{\"strict\": true}')"
        assert key in coordinator.column(found)


def options_of(url: str) -> list[str]:
    with connect(url) as connection:
        return list(
            Database(connection).value(
                "SELECT s.srvoptions FROM pg_foreign_server AS s WHERE s.srvname = 'pgblend_shards'"
            )
        )
