"""Filters by metadata, collection and row security beside plain pgvector; warm and after a restart.

    python tests/benchmarks/bench_filtered.py [PASSAGES] [--dimensions N] [--restarts N]

Makes a server and database of its own: passages of wiki_en, of which .1, 1 and 10 % have a mark in
their metadata, and others so many in a collection, which a role of that name may read alone. Plain
pgvector walks the same halfvec index of the same rows, which hold their metadata as well, with an
index for either kind of filter and a policy of its own, by an iterative scan in strict order.
recall@10 is to comparing all that pass (of hybrid: to itself with vector_scan exact). Times are the
backend's processor time.

Then the server is restarted and its files leave the system's cache: the first searches of a new
session, by the clock, as they are and after warm(server => true).
"""

import argparse
import json
import os
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from sys import path
from typing import NamedTuple

path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
import numpy as np
import psycopg
from corpora import Corpus, Document, Question, wiki
from numpy.typing import NDArray
from pgvector.psycopg import register_vector
from systems.blend import INDEX, PATIENT, SPACE, STAGE, batched
from timing import backend_ms, milliseconds, summary

from pgblend.cli.base.child_process import encode_json
from pgblend.cli.base.database import Connection, connect
from pgblend.cli.documents.batch import Batch, chunk_row, document_row
from pgblend.cli.documents.document_writer import store
from pgblend.cli.operate.cluster import Cluster
from pgblend.migrations import runner
from support.server import temporary_cluster

DEPTH, ROWS, QUERIES, FIRST = 100, 10, 40, 20
SHARES = {"10 %": 100, "1 %": 10, "0.1 %": 1}  # of a thousand
BATCH = 4000
WRITERS = 2
BLEND = {
    "vector_search": f"SELECT source_key FROM blend.vector_search(NULL, {ROWS}, %(collections)s,"
    " %(filter)s::jsonb, options => %(options)s::jsonb, query_embedding => %(vector)s)",
    "hybrid_search": f"SELECT source_key FROM blend.hybrid_search(%(query)s, {ROWS},"
    " %(collections)s, %(filter)s::jsonb, options => %(options)s::jsonb,"
    " query_embedding => %(vector)s)",
}
PEER = f"""
    SELECT p.place::text FROM pgblend_data.embedding_{SPACE} AS p WHERE {{}}
    ORDER BY p.embedding <=> %(vector)s::halfvec LIMIT {ROWS}
"""
PEERS = {
    "none": "true",
    "metadata": "p.metadata @> %(filter)s::jsonb",
    "collection": "p.collection_id = %(collection_id)s",
    "row security": "true",
}
# Not immutable, but a document of this bench never changes.
COLUMNS = f"""
    CREATE FUNCTION peer_place(id bigint) RETURNS integer LANGUAGE sql IMMUTABLE
    RETURN (SELECT d.source_key::integer FROM pgblend_data.document AS d WHERE d.id = $1);
    CREATE FUNCTION peer_metadata(id bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE
    RETURN (SELECT d.metadata FROM pgblend_data.document AS d WHERE d.id = $1);
    ALTER TABLE pgblend_data.embedding_{SPACE}
        ADD COLUMN place integer GENERATED ALWAYS AS (peer_place(document_id)) STORED,
        ADD COLUMN metadata jsonb GENERATED ALWAYS AS (peer_metadata(document_id)) STORED;
    CREATE TABLE peer_grant (role_name name, collection_id bigint);
    GRANT SELECT ON peer_grant TO pgblend_reader
"""
GRANTS = """
    INSERT INTO peer_grant SELECT c.name, c.id FROM pgblend_data.collection AS c
"""
# OFFSET 0: a look-up by key for each, however few rows the planner takes the tables for.
STAGE_VECTORS = """
    CREATE TEMP TABLE embedding_stage AS
    SELECT c.id AS chunk_id, g.embedding
    FROM given AS g
    CROSS JOIN LATERAL (
        SELECT d.id FROM pgblend_data.document AS d WHERE d.source_key = g.source_key OFFSET 0) AS d
    CROSS JOIN LATERAL (
        SELECT c.id FROM pgblend_data.chunk AS c WHERE c.document_id = d.id OFFSET 0) AS c
"""
FILTER_INDEX = f"""
    CREATE INDEX ON pgblend_data.embedding_{SPACE} USING gin (metadata jsonb_path_ops)
"""
# Rolled back: pgblend's own policies are in force before and afterwards.
POLICY = f"""
    DO $$
    DECLARE
        p record;
    BEGIN
        FOR p IN SELECT polname, polrelid::regclass AS owner FROM pg_policy
            WHERE polrelid = 'pgblend_data.embedding_{SPACE}'::regclass
        LOOP
            EXECUTE format('DROP POLICY %I ON %s', p.polname, p.owner);
        END LOOP;
    END $$;
    CREATE POLICY peer_read ON pgblend_data.embedding_{SPACE} USING (collection_id IN (
        SELECT g.collection_id FROM peer_grant AS g WHERE g.role_name = current_user))
"""


class Case(NamedTuple):
    """A filter of a kind, which passages pass it, and who asks."""

    kind: str
    share: str
    passes: Callable[[int], bool]
    filter: str | None = None
    collections: list[str] | None = None
    role: str | None = None


def part_of(place: int) -> str:
    """Return the collection of a passage: each share, and the rest."""
    number, first = place % 1000, 0
    for count in SHARES.values():
        if first <= number < first + count:
            return f"part{count}"
        first += count
    return "rest"


def marks_of(place: int) -> dict[str, bool]:
    """Return the metadata of a passage, which has nothing to do with its collection."""
    return {f"below{count}": True for count in SHARES.values() if place * 7919 % 1000 < count}


def cases() -> Iterator[Case]:
    """Return all filters."""
    yield Case("none", "all", lambda place: True)
    for share, count in SHARES.items():
        mark, part = f"below{count}", f"part{count}"

        def marked(place: int, mark: str = mark) -> bool:
            return mark in marks_of(place)

        def within(place: int, part: str = part) -> bool:
            return part_of(place) == part

        yield Case("metadata", share, marked, filter=json.dumps({mark: True}))
        yield Case("collection", share, within, collections=[part])
        yield Case("row security", share, within, role=part)


def fill(url: str, corpus: Corpus) -> None:
    """Store the corpus in pgblend's tables, and what the peer asks for beside the vectors.

    The indexes are built at the end.
    """
    runner.upgrade(url)
    parts = [*(f"part{count}" for count in SHARES.values()), "rest"]
    with connect(url) as connection:
        connection.execute("SET maintenance_work_mem = '2GB'")
        for part in parts:
            connection.execute("SELECT add_collection(%s, %s)", [part, corpus.language])
            connection.execute(f"CREATE ROLE {part} IN ROLE pgblend_reader")
            connection.execute("SELECT grant_collection(%s, %s)", [part, part])
        connection.execute(
            "SELECT create_embedding_space(%s, 'openai/bench', %s, storage => 'halfvec',"
            " probe => false, brings_vectors => true)",
            [SPACE, corpus.dimensions],
        )
        ((index, definition),) = connection.execute(INDEX).fetchall()
        connection.execute(f"DROP INDEX {index}")
        connection.execute(COLUMNS)
        connection.execute(GRANTS)
        with ThreadPoolExecutor(WRITERS) as writers:
            under_way: deque[Future[None]] = deque()
            for documents in batched(corpus.documents(), BATCH):
                if len(under_way) > WRITERS:
                    under_way.popleft().result()
                under_way.append(writers.submit(store_batch, url, parts, documents))
            for left in under_way:
                left.result()
        connection.execute(definition)
        connection.execute(FILTER_INDEX)
        for part in parts:
            connection.execute("SELECT lexical_seal(%s)", [part])
        connection.execute("CREATE EXTENSION pg_prewarm")
        connection.execute("VACUUM ANALYZE")


def store_batch(url: str, parts: Sequence[str], documents: Sequence[Document]) -> None:
    """Store documents and their vectors."""
    with connect(url) as connection:
        register_vector(connection)
        connection.execute(STAGE)
        for part in parts:
            store_part(connection, part, [d for d in documents if part_of(int(d.key)) == part])
        with connection.transaction():
            connection.execute(STAGE_VECTORS)
            connection.execute("ANALYZE embedding_stage")  # or it would be joined with all chunks
            connection.execute("SELECT pgblend._store_embeddings(%s)", [SPACE])


def store_part(connection: Connection, part: str, documents: Sequence[Document]) -> None:
    """Store documents of one chunk as ingest does, and stage their vectors."""
    if not documents:
        return
    with closing(Batch([document.key for document in documents])) as batch:
        for place, document in enumerate(documents):
            about = {
                "place": place,
                "source_key": document.key,
                "title": "",
                "content_hash": "given",
                "metadata": encode_json(marks_of(int(document.key))),
            }
            row = document_row(about) + chunk_row(place, {"content": document.text})
            batch.add(place, 0, row.encode())
            batch.finish(place, 1, 0)
        store(connection, part, batch)
    with connection.cursor().copy("COPY given FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["text", "vector"])
        for document in documents:
            copy.write_row((document.key, document.vector))


class Bench:
    """The filled database, and what is nearest to each question among passages that pass."""

    def __init__(self, cluster: Cluster, corpus: Corpus) -> None:
        self.cluster, self.corpus = cluster, corpus
        with connect(cluster.url) as connection:
            rows = connection.execute("SELECT name, id FROM pgblend_data.collection").fetchall()
        self.ids: dict[str, int] = dict(rows)
        self.questions, self.size = corpus.questions[:QUERIES], corpus.size
        asked = np.stack([question.vector for question in self.questions], axis=1)
        vectors = (
            np.stack([one.vector for one in documents])
            for documents in batched(corpus.documents(), BATCH)
        )
        self.cosines: NDArray[np.float32] = np.concatenate([some @ asked for some in vectors])

    def nearest(self, case: Case) -> list[set[str]]:
        """Return the keys of the nearest passages that pass, for each question."""
        places = np.array([n for n in range(self.size) if case.passes(n)])
        best = np.argsort(-self.cosines[places], axis=0, kind="stable")[:ROWS]
        return [{str(place) for place in places[order]} for order in best.T]

    def ask(
        self, connection: psycopg.Connection, statement: str, case: Case, **options: str
    ) -> tuple[list[list[str]], list[float]]:
        """Return what a statement finds for each question, and its processor time."""
        found, times = [], []
        asked = json.dumps(json.loads(PATIENT) | options)
        for question in [*self.questions[:5], *self.questions]:
            values = {
                "query": question.text,
                "vector": question.as_sql,
                "filter": case.filter,
                "collections": case.collections,
                "collection_id": self.ids.get(case.collections[0]) if case.collections else None,
                "options": asked,
            }
            before = backend_ms(connection)
            rows = connection.execute(statement.encode(), values, prepare=True).fetchall()
            times.append(backend_ms(connection) - before)
            found.append([row[0] for row in rows])
        return found[5:], times[5:]

    def warm(self, case: Case) -> Iterator[figures.Row]:
        """Measure one filter, in sessions of their own."""
        about = {"case": f"{self.size:,}, {case.kind}, {case.share}"}
        best = self.nearest(case)
        statements = BLEND | {"pgvector": PEER.format(PEERS[case.kind])}
        for system, statement in statements.items():
            with (
                connect(self.cluster.url) as connection,
                connection.transaction(force_rollback=True),
            ):
                if system == "pgvector" and case.role:
                    connection.execute(POLICY)
                if case.role:
                    connection.execute(f"SET ROLE {case.role}")
                connection.execute(f"SET hnsw.ef_search = {DEPTH}")
                connection.execute("SET hnsw.iterative_scan = strict_order")
                truth = best
                if system == "hybrid_search":
                    exact, _ = self.ask(connection, statement, case, vector_scan="exact")
                    truth = [set(keys) for keys in exact]
                found, times = self.ask(connection, statement, case)
            recall = statistics.mean(
                len(nearest & set(keys)) / len(nearest) if nearest else 1.0
                for nearest, keys in zip(truth, found, strict=True)
            )
            rows = statistics.mean(map(len, found))
            yield about | {"system": system, "recall@10": recall, "rows": rows, **summary(times)}

    def restarted(self, restarts: int, warms: bool) -> figures.Row:
        """Measure the first searches after restarts, with the files out of the system's cache."""
        times: list[float] = []
        for _ in range(restarts):
            self.cluster.stop()
            forget(self.cluster.data)
            self.cluster.start()
            if warms:
                with connect(self.cluster.url) as connection:
                    connection.execute("SELECT count(*) FROM warm(server => true)").fetchall()
            with connect(self.cluster.url) as connection:
                if warms:
                    connection.execute("SELECT count(*) FROM warm()").fetchall()
                for question in self.questions[:FIRST]:
                    times.append(milliseconds(partial(searched, connection, question)))
        system = "hybrid_search, after pgblend warm" if warms else "hybrid_search, cold"
        case = f"{self.size:,}, first {FIRST} after a restart"
        return {"case": case, "system": system, **summary(times)}


def searched(connection: psycopg.Connection, question: Question) -> None:
    """Search once."""
    connection.execute(
        f"SELECT * FROM hybrid_search(%s, {ROWS}, options => %s::jsonb, query_embedding => %s)",
        [question.text, PATIENT, question.as_sql],
        prepare=True,
    ).fetchall()


def forget(folder: Path) -> None:
    """Have the system forget what it keeps of files in memory."""
    os.sync()
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    """Measure the number of passages named on the command line."""
    parser = argparse.ArgumentParser(description="Filters beside plain pgvector.")
    parser.add_argument("passages", nargs="?", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=figures.DIMENSIONS)
    parser.add_argument("--restarts", type=int, default=5)
    given = parser.parse_args()
    corpus = wiki(given.passages, dimensions=given.dimensions)
    rows: list[figures.Row] = []
    with temporary_cluster(durable=True, shared_buffers="'3GB'", max_wal_size="'8GB'") as cluster:
        fill(cluster.url, corpus)
        bench = Bench(cluster, corpus)
        for case in cases():
            for row in bench.warm(case):
                rows.append(row)
                print(row, flush=True)
        rows.append(bench.restarted(given.restarts, warms=False))
        rows.append(bench.restarted(given.restarts, warms=True))
    figures.write("filtered", rows)


if __name__ == "__main__":
    main()
