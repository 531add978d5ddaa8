"""Shards behind pgbouncer in transaction mode: a call may go to another session each time."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.base.database import connect
from support.database import Database
from support.pgbouncer import pgbouncer, pgbouncer_program
from support.shards import Scale

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
    program = pgbouncer_program()
    if program is None:
        pytest.skip("there is no pgbouncer")
    at = conninfo_to_dict(url)
    passwords = {str(at["user"]): str(at["password"])}
    with pgbouncer(program, str(at["host"]), str(at["port"]), passwords, POOL) as (port, _):
        yield port


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
