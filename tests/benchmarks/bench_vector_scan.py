"""Processor time of the vectors' arm, all compared or by the index, by width, storage and size.

    python tests/benchmarks/bench_vector_scan.py SERVER_URL FILE.npz… [--dimensions N…] [--sizes N…]

Judges what `vector_scan: auto` does: the last column is its time as a multiple of the better way's.
Makes a database of its own on the server, which runs on this machine (kept: bench_vector_scan,
--database), and fills spaces with ever more of the files' vectors, shuffled,
repeated until they are so wide (cosines stay as they are). A search is of all, or of a collection
that is a part: `searched` of `vectors`. Times are the backend's processor time a query, the ways in
turn; recall is the share of the nearest passages that the index finds.
"""

import argparse
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import psycopg
from bench_spaces import STORE
from corpora import widened
from pgvector.psycopg import register_vector
from psycopg.conninfo import make_conninfo
from systems.server_database import server_url
from timing import backend_ms

from pgblend.migrations import runner
from support.word_lists import add_word_lists

NAME = "bench_vector_scan"
DIMENSIONS = (384, 768, 1024, 1536, 3072)
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
MOST = {"vector": 2000, "halfvec": 4000, "binary": 16_000}  # dimensions
SCANS = ("exact", "index", "auto")
QUERIES, ROUNDS, DEPTH = 30, 3, 100
# Collections, and how many of twenty passages each has; the last has the rest.
PARTS = {"part5": 1, "part10": 2, "part20": 4, "part50": 10, "rest": 3}
LEAST_OF_PARTS = 10_000  # vectors of a space that is searched in part
ARM = """
SELECT a.scores
FROM vector_list(
    %s, %s, ARRAY(
        SELECT id FROM pgblend_data.collection
        WHERE %s::text IS NULL OR name = %s), NULL, NULL, %s) AS a
"""
# Without the triggers that index words: only vectors are measured.
FILL = """
SET session_replication_role = replica;
INSERT INTO pgblend_data.document (collection_id, bucket, source_key, title, text_search_config,
    metadata, content_hash)
SELECT c.id, 0, n::text, '', 'simple', '{{}}', n::text
FROM generate_series(1, {count}) AS n
INNER JOIN pgblend_data.collection AS c ON c.name = (%s::text[])[n %% 20 + 1];
INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket, content, kind,
    own_start, token_count, metadata, text_search_config, lexemes, own_position)
SELECT d.id, 0, d.collection_id, 0, 'w' || d.source_key, 'doc', 0, 1, '{{}}', 'simple', '', 0
FROM pgblend_data.document AS d ORDER BY d.id;
RESET session_replication_role;
ANALYZE pgblend_data.document, pgblend_data.chunk;
"""


def load(files: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Join the vectors of all files, and shuffle them."""
    sets = [np.load(file) for file in files]
    corpus, queries = (
        np.concatenate([each[part].astype(np.float32) for each in sets])
        for part in ("corpus", "queries")
    )
    order = list(range(len(corpus)))
    random.Random(1).shuffle(order)
    return corpus[order], queries[np.random.default_rng(1).permutation(len(queries))[:QUERIES]]


def main(asked: argparse.Namespace) -> None:
    corpus, queries = load(asked.files)
    server, name, storages = asked.server, asked.database, asked.storages
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {name}")
    url = make_conninfo(server, dbname=name)
    runner.upgrade(url)
    print(f"{len(queries)} queries, {DEPTH} candidates; ms of processor time a query")
    print("dimensions storage  vectors searched  exact  index  recall  auto  auto/better")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = blend, pgblend, pgblend_data, public")
        register_vector(connection)
        add_word_lists(connection)
        places = [name for name, count in PARTS.items() for _ in range(count)]
        for name in PARTS:
            connection.execute("SELECT add_collection(%s, 'simple')", [name])
        for size in asked.sizes:
            connection.execute("TRUNCATE pgblend_data.document CASCADE")
            with psycopg.ClientCursor(connection) as cursor:
                cursor.execute(FILL.format(count=size), [places])
            for width in asked.dimensions:
                for storage in storages:
                    if width <= MOST[storage]:
                        fill(connection, storage, widened(corpus[:size], width))
                        wide = widened(queries, width)
                        measure(connection, storage, size, None, wide)
                        for part in PARTS if size >= LEAST_OF_PARTS else ():
                            if part != "rest":
                                measure(connection, storage, size, part, wide)
                        connection.execute("SELECT drop_embedding_space(%s, true)", [storage])


def fill(connection: psycopg.Connection, storage: str, vectors: np.ndarray) -> None:
    """Make a space of these vectors, and none else; the index is built at the end."""
    connection.execute(
        "SELECT create_embedding_space(%s, 'm', %s, %s, probe => false)",
        [storage, vectors.shape[1], storage],
    )
    connection.execute("SELECT index_embedding_space(%s, false)", [storage])
    connection.execute("DROP TABLE IF EXISTS stage")
    connection.execute("CREATE TEMP TABLE stage (place integer, embedding vector)")
    with connection.cursor().copy("COPY stage FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "vector"])
        for place, embedding in enumerate(vectors, start=1):
            copy.write_row((place, embedding))
    connection.execute("SET session_replication_role = replica")  # foreign keys cost as much
    connection.execute(STORE.format(name=storage))
    connection.execute("RESET session_replication_role")
    connection.execute("SELECT index_embedding_space(%s)", [storage])
    connection.execute(f"VACUUM ANALYZE pgblend_data.embedding_{storage}")


def measure(
    connection: psycopg.Connection, storage: str, size: int, part: str | None, queries: np.ndarray
) -> None:
    """Print the times of all ways, and the recall of the index."""
    scores: dict[str, list[list[float]]] = {}
    times = dict.fromkeys(SCANS, float("inf"))
    for scan in SCANS * ROUNDS:
        settings = json.dumps({"candidate_depth": DEPTH, "vector_scan": scan})
        given = [storage, part, part, settings]
        run(connection, queries[:3], given)
        before = backend_ms(connection)
        scores[scan] = run(connection, queries, given)
        times[scan] = min(times[scan], (backend_ms(connection) - before) / len(queries))
    recall = np.mean(
        [
            np.mean(np.array(found)[: len(best)] >= best[-1] - 1e-6) * len(found) / len(best)
            for found, best in zip(scores["index"], scores["exact"], strict=True)
        ]
    )
    better = min(times["exact"], times["index"])
    searched = size * PARTS[part] // 20 if part else size
    print(
        f"{queries.shape[1]:10} {storage:8} {size:7} {searched:8} {times['exact']:6.2f}"
        f" {times['index']:6.2f} {recall:7.4f} {times['auto']:5.2f}"
        f" {times['auto'] / better:12.2f}",
        flush=True,
    )


def run(
    connection: psycopg.Connection, queries: np.ndarray, given: list[str | None]
) -> list[list[float]]:
    """Return the cosines that the arm finds, by query."""
    return [connection.execute(ARM, [query, *given]).fetchone()[0] for query in queries]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", type=server_url, help="a superuser's URL without a database")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--dimensions", nargs="+", type=int, default=DIMENSIONS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--database", default=NAME, help="to make, in place of one of the name")
    parser.add_argument("--storages", nargs="+", choices=MOST, default=tuple(MOST))
    main(parser.parse_args())
