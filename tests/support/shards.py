"""A coordinator with its shards beside one node that has the same documents, with the same ids."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from pgblend.cli.base.database import connect
from pgblend.cli.base.places import push_changes
from pgblend.cli.shards.members import places_of
from support.database import Database
from support.waiting import wait_until

BUCKETS = "SELECT b.bucket FROM pgblend_data.shard_bucket AS b WHERE b.shard = %s"
VECTOR_TABLES = "SELECT s.table_name FROM pgblend_data.embedding_space AS s"
_COLUMNS = """
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
    FROM pg_attribute AS a
    WHERE a.attrelid = format('pgblend_data.%%I', %s::text)::regclass
        AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
"""
_COUNTER = """
CREATE OR REPLACE FUNCTION public.asked() RETURNS integer[] LANGUAGE plpython3u AS $python$
counted = GD.get("pgblend_shard_trips", {})
return [counted.get("made", 0), counted.get("shards", 0)]
$python$;
"""
_PLACE = """
    UPDATE pgblend_data.collection AS c SET buckets = CASE
        WHEN %(shards)s::text[] IS NOT NULL THEN pgblend._buckets_of_shards(%(shards)s) END
    WHERE c.name = %(name)s
"""
_SPANS = "SELECT c.name, c.buckets::text FROM pgblend_data.collection AS c"
_SPAN = """
    UPDATE pgblend_data.collection AS c SET buckets = %s::int4multirange WHERE c.name = %s
"""
_ALLOW = "ALTER DATABASE {} ALLOW_CONNECTIONS {}"
_END = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
)


@dataclass
class Scale:
    """One node, a coordinator and its shards."""

    one: Database
    coordinator: Database
    shards: Sequence[Database]

    def clear(self) -> None:
        """Forget all documents."""
        for store in (self.one, *self.shards):
            forget_all(store)

    def place(self, shards: Mapping[str, Sequence[str] | None]) -> None:
        """Have collections, which are empty, on some shards; None: on all."""
        for name, names in shards.items():
            given = {"name": name, "shards": names}
            with changing_spans(self.coordinator):
                self.coordinator.connection.execute(_PLACE, given)
        self.place_one_alike()
        push_changes(self.coordinator.connection)

    def place_one_alike(self) -> None:
        """Have the one node number buckets as the coordinator does."""
        with changing_spans(self.one):
            for name, buckets in self.coordinator.rows(_SPANS):
                self.one.rows(_SPAN, buckets, name)

    @contextmanager
    def without(self, number: int) -> Iterator[None]:
        """A shard whose database takes no connections, and has none but the test's own."""
        shard, admin = self.shards[number], self.coordinator
        name = shard.value("SELECT current_database()")
        admin.connection.execute(_ALLOW.format(name, "false").encode())
        admin.rows(_END, name, shard.connection.info.backend_pid)
        try:
            yield
        finally:
            admin.connection.execute(_ALLOW.format(name, "true").encode())

    def add(self, collection: str, key: str, content: str, title: str = "", **more: Any) -> None:
        """Ingest a document into the one node, and with the same ids into its shard."""
        values = collection, key, content, title, more.get("language")
        document, chunk = stored(self.one, *values)
        bucket = self.one.value(
            "SELECT d.bucket FROM pgblend_data.document AS d WHERE d.id = %s", document
        )
        number = self.coordinator.value(
            "SELECT b.shard FROM pgblend_data.shard_bucket AS b WHERE b.bucket = %s", bucket
        )
        shard = self.shards[number]
        number_from(shard, document, chunk)
        assert stored(shard, *values) == (document, chunk)

    def ingest(self, documents: Sequence[tuple[Any, ...]]) -> None:
        """Ingest (collection, key, content, title, language) into the one node."""
        columns = zip(*documents, strict=True) if documents else ([] for _ in range(5))
        self.one.rows(
            "SELECT ingest_document(d.collection, d.key, d.content, d.title, language => d.config)"
            " FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[])"
            " AS d (collection, key, content, title, config)",
            *map(list, columns),
        )

    def spread(self) -> None:
        """Give the shards, which are empty, the one node's rows."""
        places = places_of(self.coordinator.connection)
        for place, shard in zip(places, self.shards, strict=True):
            buckets = self.coordinator.column(BUCKETS, place.number)
            for table in ("document", "chunk", *self.one.column(VECTOR_TABLES)):
                copy_rows(self.one.connection, shard.connection, table, buckets)
            shard.rows("DELETE FROM pgblend_data.embedding_queue")

    def forget(self, collection: str, key: str) -> None:
        """Delete a document everywhere."""
        for store in (self.one, *self.shards):
            store.rows("SELECT delete_document(%s, %s)", collection, key)

    def seal(self) -> None:
        """Bring all lexical indexes up to date."""
        for store in (self.one, *self.shards):
            store.rows("SELECT lexical_seal()")

    def embed(self, space: str, dimensions: int) -> None:
        """Give every passage a vector of its content, the same on both sides."""
        for store in (self.one, *self.shards):
            embed(store, space, dimensions)


@contextmanager
def changing_spans(database: Database) -> Iterator[None]:
    """Let a session change buckets of collections, which is refused to all others (_keep_span)."""
    database.connection.execute("SET pgblend.gives_front = on")
    try:
        yield
    finally:
        database.connection.execute("RESET pgblend.gives_front")


def make_counter(coordinator: Database) -> None:
    """Let sessions of a coordinator tell how often they ask (asked)."""
    coordinator.connection.execute(_COUNTER)


def asked(session: Database, search: str, *parameters: Any) -> list[int]:
    """Return how many trips a search makes, which finds something, and to how many shards."""
    before = session.value("SELECT public.asked()")
    assert session.rows(search, *parameters)
    after = session.value("SELECT public.asked()")
    return [now - then for now, then in zip(after, before, strict=True)]


def copy_rows(
    source: psycopg.Connection, target: psycopg.Connection, table: str, buckets: Sequence[int]
) -> None:
    """Copy the rows of some buckets, as they are; the target's triggers index them."""
    ((columns,),) = target.execute(_COLUMNS, [table]).fetchall()
    wanted = ", ".join(map(str, buckets))
    rows = f"SELECT {columns} FROM pgblend_data.{table} WHERE bucket IN ({wanted}) ORDER BY 1"
    with (
        source.cursor().copy(f"COPY ({rows}) TO STDOUT".encode()) as out,
        target.cursor().copy(f"COPY pgblend_data.{table} ({columns}) FROM STDIN".encode()) as into,
    ):
        for data in out:
            into.write(data)


def number_from(shard: Database, document: int, chunk: int) -> None:
    """Have a shard give these ids next."""
    for table, next_id in (("document", document), ("chunk", chunk)):
        shard.rows(
            f"ALTER TABLE pgblend_data.{table} ALTER COLUMN id SET MINVALUE 1"
            f" SET START 1 RESTART WITH {next_id}"
        )


def forget_all(store: Database) -> None:
    """Delete all documents of a store."""
    store.rows("SELECT count(blend.delete_document(d.id)) FROM pgblend_data.document AS d")


def embed(store: Database, space: str, dimensions: int) -> None:
    """Give every passage of a store a vector of its content."""
    store.rows(
        f"INSERT INTO pgblend_data.embedding_{space}"
        " SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket,"
        "  (SELECT array_agg(('x' || substr(md5(c.content), 2 * g, 2))::bit(8)::integer"
        "   - 128.5) FROM generate_series(1, %s) AS g)::vector"
        " FROM pgblend_data.chunk AS c ON CONFLICT DO NOTHING",
        dimensions,
    )
    store.rows("DELETE FROM pgblend_data.embedding_queue")


def run_command(url: str, *arguments: str, fails: bool = False) -> str:
    """Run pgblend; return what it says, which is an error where it `fails`."""
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", url, *arguments]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    output = told.stderr + told.stdout
    assert (told.returncode != 0) is fails, output
    return output


def kill_at(
    database: str, table: str, reached: Callable[[], object], url: str, *arguments: str
) -> None:
    """Start a command that waits for a table of a database; kill it once that is reached."""
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", url, *arguments]
    with connect(database) as holder, holder.transaction():
        holder.execute(f"LOCK TABLE pgblend_data.{table} IN SHARE MODE".encode())
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            wait_until(reached, process=process)
            assert process.poll() is None
            process.kill()


def stored(database: Database, *values: Any) -> tuple[int, int]:
    """Ingest a document; return its id and that of its first passage."""
    document = database.value(
        "SELECT document_id FROM ingest_document(%s, %s, %s, %s, language => %s)", *values
    )
    return document, database.value(
        "SELECT min(c.id) FROM pgblend_data.chunk AS c WHERE c.document_id = %s", document
    )
