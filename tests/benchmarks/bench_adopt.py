"""What it takes to take vectors of a table over to a space (`pgblend space adopt`).

    .venv/bin/python tests/benchmarks/bench_adopt.py 100000 --dimensions 1536

Prints the processor time of server and client, the seconds, and the session's memory at the start
and at the end. The space has no vector index meanwhile: pgblend space index makes it afterwards.
"""

import os
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pgblend.cli.base.database import connect
from pgblend.cli.embed.space_changes import Adopted, adopt_vectors
from pgblend.migrations import runner
from support.server import temporary_cluster

_CHUNKS = """
    INSERT INTO pgblend_data.chunk (
        document_id, chunk_index, collection_id, bucket, content, kind, own_start, token_count,
        metadata, text_search_config, lexemes, own_position)
    SELECT d.id, g, d.collection_id, d.bucket, 'x', 'doc', 0, 1, '{}', 'english', '', 1
    FROM pgblend_data.document AS d CROSS JOIN generate_series(1, %s - 1) AS g
"""
_MADE = 1000  # vectors, of which all rows have one
_VECTORS = """
    INSERT INTO ready
    WITH made AS MATERIALIZED (
        SELECT n, ARRAY(
            SELECT (random() - 0.5 + n * 0)::real FROM generate_series(1, %s))::vector AS v
        FROM generate_series(0, %s - 1) AS n
    )
    SELECT c.id, m.v FROM pgblend_data.chunk AS c INNER JOIN made AS m ON m.n = c.id %% %s
"""
_IN_MEMORY = 200_000  # vectors; the server of more is on disk


def main() -> None:
    """Make passages and vectors, take these over, and print what it took."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("vectors", type=int)
    parser.add_argument("--dimensions", type=int, default=1536)
    options = parser.parse_args()
    with temporary_cluster(durable=options.vectors > _IN_MEMORY) as cluster:
        runner.upgrade(cluster.url)
        with connect(cluster.url) as connection:
            connection.execute("SELECT add_collection('c')")
            connection.execute("SELECT ingest_document('c', 'k', 'x')")
            connection.execute("SET session_replication_role = replica")
            connection.execute(_CHUNKS, [options.vectors])
            connection.execute("SET session_replication_role = origin")
            connection.execute(
                "SELECT create_embedding_space('s', 'm', %s, 'vector', brings_vectors => true)",
                [options.dimensions],
            )
            connection.execute("SELECT index_embedding_space('s', false)")
            connection.execute("CREATE TABLE public.ready (id bigint, v vector)")
            connection.execute(_VECTORS, [options.dimensions, _MADE, _MADE])
            connection.execute("VACUUM ANALYZE ready")
            connection.execute("ANALYZE pgblend_data.chunk")
            server, client = (
                psutil.Process(connection.info.backend_pid),
                psutil.Process(os.getpid()),
            )
            given = {"space": "s", "table": "ready", "key": "id", "vectors": "v"}
            adopted, memory = Adopted(), []

            def advance(_: int) -> None:
                memory.append(server.memory_info().rss - server.memory_info().shared)

            before, start = (server.cpu_times(), client.cpu_times()), time.perf_counter()
            adopt_vectors(
                connection,
                {**given, "collection": None, "replace": False},
                lambda *_: advance,
                adopted,
            )
            seconds = time.perf_counter() - start
            used = [
                sum(process.cpu_times()[:2]) - sum(earlier[:2])
                for process, earlier in zip((server, client), before, strict=True)
            ]
    print(f"{adopted.stored:,} vectors of {options.dimensions:,} dimensions in {seconds:.1f} s")
    print(f"processor time: server {used[0]:.1f} s, client {used[1]:.1f} s")
    print(f"memory of the session: {memory[1] / 1e6:.0f} MB, at the end {memory[-1] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
