"""Coordinators of shards that have the rows of one node, with the same ids."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
from corpora import Corpus
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.base.database import connect
from pgblend.migrations import runner
from support.shards import BUCKETS, copy_rows, run_command
from systems.blend import COLLECTION, INDEX, SPACE, Blend, up_to_date
from systems.server_database import database_name, filled_database

AT_ONCE = 2  # shards that are filled
TABLES = ("document", "chunk", f"embedding_{SPACE}")


class Sharded(Blend):
    """A coordinator of some shards, all databases of one server."""

    def __init__(self, server: str, count: int, one: Blend) -> None:
        super().__init__(server)
        self.count, self.one = count, one
        self.name = "1 shard" if count == 1 else f"{count} shards"

    def load(self, corpus: Corpus) -> float:
        """Give each shard its part of the one node's rows."""
        name = database_name(f"shards_{self.count}", corpus.name)
        self.shards = [f"{self.server}/{name}_b{number}" for number in range(self.count)]
        self.url, seconds = filled_database(
            self.server, name, lambda new: self.fill(new, corpus), self.refresh
        )
        self.connection = self.session()
        return seconds

    def refresh(self, url: str) -> bool:
        """Put the working tree's routines into all databases."""
        return all(up_to_date(each) for each in [*self.shards, url])

    def fill(self, url: str, corpus: Corpus) -> None:
        """Make the databases, the coordinator of them, and then their rows."""
        with psycopg.connect(f"{self.server}/postgres", autocommit=True) as postgres:
            for shard in self.shards:
                name = sql.Identifier(shard.rpartition("/")[2])
                postgres.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(name))
                postgres.execute(sql.SQL("CREATE DATABASE {}").format(name))
        for each in [*self.shards, url]:
            runner.upgrade(each)
        with connect(url) as coordinator:
            coordinator.execute(
                "SELECT blend.add_collection(%s, %s)", [COLLECTION, corpus.language]
            )
            coordinator.execute(
                "SELECT blend.create_embedding_space(%s, 'openai/bench', %s, probe => false)",
                [SPACE, corpus.dimensions],
            )
        named = (f"b{number}={shard}" for number, shard in enumerate(self.shards))
        run_command(url, "shards", "add", *named)
        with connect(url) as coordinator, ThreadPoolExecutor(AT_ONCE) as pool:
            buckets = [
                [row[0] for row in coordinator.execute(BUCKETS, [number])]
                for number in range(self.count)
            ]
            list(pool.map(self.fill_shard, self.shards, buckets))

    def fill_shard(self, url: str, buckets: list[int]) -> None:
        """Copy the rows of some buckets; indexes are built as those of the one node are."""
        with connect(self.one.url) as one, connect(url) as shard:
            shard.execute("SET maintenance_work_mem = '1GB'")
            ((index, definition),) = shard.execute(INDEX).fetchall()
            shard.execute(f"DROP INDEX {index}")
            for table in TABLES:
                copy_rows(one, shard, table, buckets)
            shard.execute("TRUNCATE pgblend_data.embedding_queue")
            shard.execute("SELECT blend.lexical_seal(%s)", [COLLECTION])
            shard.execute(definition)
            shard.execute("VACUUM ANALYZE")

    def reach_by(self, port: int | str) -> None:
        """Have the coordinator reach its shards by another port of the same host."""
        host = conninfo_to_dict(self.server)["host"]
        places = {
            f"p{place}": f"host={host} port={port} dbname={name}"
            for place, name in enumerate(self.partitions())
        }
        options = ", ".join(f"SET {name} '{place}'" for name, place in places.items())
        self.connection.execute(f"ALTER SERVER pgblend_shards OPTIONS ({options})".encode())

    def partitions(self) -> list[str]:
        """Return the databases by PL/Proxy's partitions: shards, the last as often as it takes."""
        names = [shard.rpartition("/")[2] for shard in self.shards]
        most = 1 << (self.count - 1).bit_length()
        return [*names, *names[-1:] * (most - self.count)]
