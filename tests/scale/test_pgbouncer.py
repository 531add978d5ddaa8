"""Shards behind pgbouncer in transaction mode: a call may go to another session each time."""

import json
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.database import connect
from support.database import Database
from support.shards import Scale
from support.waiting import wait_until

pytestmark = pytest.mark.slow

CLIENTS, SEARCHES, POOL = 4, 8, 2
OPTIONS = json.dumps({"vector_scan": "exact"})
SEARCH = (
    "SELECT chunk_id, score, degraded FROM hybrid_search(%s, options => %s,"
    " query_embedding => '[1,2,3,4,5,6,7,8]')"
)
_PLACE = (
    "SELECT o.option_value FROM pg_foreign_server AS s,"
    " pg_options_to_table(s.srvoptions) AS o WHERE o.option_name = %s"
)


@contextmanager
def bouncer(url: str) -> Iterator[int]:
    """Run pgbouncer before a server, with two sessions a database; yield its port."""
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not Path(program).exists():
        pytest.skip("there is no pgbouncer")
    at = conninfo_to_dict(url)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "users").write_text(f'"{at["user"]}" "{at["password"]}"\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={at['host']} port={at['port']}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = scram-sha-256\nauth_file = {folder / 'users'}\n"
            f"pool_mode = transaction\ndefault_pool_size = {POOL}\nmax_client_conn = 200\n"
        )
        command = [program, "-u", "nobody", str(folder / "pgbouncer.ini")]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: is_open(port), seconds=30, process=process)
            yield port
        finally:
            process.terminate()
            process.wait()


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_shards_behind_pgbouncer(three_shards: Scale) -> None:
    coordinator, names = three_shards.coordinator, [f"p{number}" for number in range(4)]
    places = {name: coordinator.column(_PLACE, name)[0] for name in names}
    expected = {
        query: three_shards.one.rows(SEARCH, query, OPTIONS)
        for query in ("wine", "house 7", "hose 12", "house -wine", '"of house"')
    }

    def searched(number: int) -> None:
        with connect(coordinator.url) as connection:
            for turn in range(SEARCHES):
                query = [*expected][(number + turn) % len(expected)]
                assert Database(connection).rows(SEARCH, query, OPTIONS) == expected[query]

    with bouncer(three_shards.shards[0].url) as port:
        try:
            for name, place in places.items():
                move(coordinator, name, f"{place} port={port}")
            with ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(searched, range(CLIENTS)))
            held = (
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = %s AND client_port IS NOT NULL AND pid <> %s"
            )
            for shard in three_shards.shards:
                own = shard.connection.info.backend_pid
                database = shard.value("SELECT current_database()")
                assert coordinator.value(held, database, own) <= POOL
        finally:
            for name, place in places.items():
                move(coordinator, name, place)


def move(coordinator: Database, name: str, place: str) -> None:
    """Have the coordinator look for a shard somewhere else."""
    statement = f"ALTER SERVER pgblend_shards OPTIONS (SET {name} '{place}')"
    coordinator.connection.execute(statement.encode())
