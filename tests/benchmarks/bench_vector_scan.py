"""Processor time and recall of the vectors' arm: all compared, or by the index, by size of a space.

    python tests/benchmarks/bench_vector_scan.py SERVER_URL FILE.npz…

Chooses below which number of vectors `vector_scan: auto` compares all of them. Makes a database of
its own on the server, which runs on this machine (kept: bench_vector_scan), and fills a space with
ever more of the files' vectors, shuffled. Times are the backend's processor time a query; recall is
the share of the nearest candidate_depth passages that the index finds.
"""

import json
import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import psycopg
from bench_spaces import FILL, STORE
from pgvector.psycopg import register_vector
from psycopg.conninfo import make_conninfo

from pgblend.migrations import runner
from support.word_lists import add_word_lists

NAME = "bench_vector_scan"
SIZES = (2_000, 5_000, 10_000, 15_000, 20_000, 30_000)
QUERIES = 200
ARM = """
SELECT a.scores
FROM vector_list(
    %s, %s, ARRAY(SELECT id FROM pgblend_data.collection), NULL, NULL, %s) AS a
"""


def load(files: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Join the vectors of all files."""
    sets = [np.load(file) for file in files]
    return tuple(
        np.concatenate([each[part].astype(np.float32) for each in sets])
        for part in ("corpus", "queries")
    )


def main(server: str, files: list[str]) -> None:
    corpus, queries = load(files)
    order = list(range(len(corpus)))
    random.Random(1).shuffle(order)
    asked = queries[np.random.default_rng(1).permutation(len(queries))[:QUERIES]]
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {NAME}")
        admin.execute(f"CREATE DATABASE {NAME}")
    url = make_conninfo(server, dbname=NAME)
    runner.upgrade(url)
    print(f"{len(asked)} queries, {corpus.shape[1]} dimensions; ms of processor time a query")
    print("storage  vectors  depth  ef  exact  index  index/exact  recall  worst")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = blend, pgblend, pgblend_data, public")
        register_vector(connection)
        add_word_lists(connection)
        connection.execute("SELECT add_collection('c', 'simple')")
        for storage in ("vector", "halfvec"):
            connection.execute(
                "SELECT create_embedding_space(%s, 'm', %s, %s, probe => false)",
                [storage, corpus.shape[1], storage],
            )
        for size in SIZES:
            fill(connection, corpus[order[:size]])
            for storage in ("vector", "halfvec"):
                for depth, ef in ((50, 50), (100, 100), (100, 200), (100, 400)):
                    measure(connection, storage, size, asked, depth, ef)


def fill(connection: psycopg.Connection, corpus: np.ndarray) -> None:
    """Give each space these vectors, and none else."""
    connection.execute("TRUNCATE pgblend_data.document CASCADE")
    connection.execute(FILL.format(count=len(corpus)))
    connection.execute("DROP TABLE IF EXISTS stage")
    connection.execute("CREATE TEMP TABLE stage (place integer, embedding vector)")
    with connection.cursor().copy("COPY stage FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "vector"])
        for place, embedding in enumerate(corpus, start=1):
            copy.write_row((place, embedding))
    for storage in ("vector", "halfvec"):
        connection.execute(STORE.format(name=storage))
    connection.execute("VACUUM ANALYZE")


def measure(
    connection: psycopg.Connection,
    storage: str,
    size: int,
    queries: np.ndarray,
    depth: int,
    ef_search: int,
) -> None:
    """Print the times of both ways, and the recall of the index."""
    scores, times = {}, {}
    for scan in ("exact", "index"):
        settings = {
            **{"candidate_depth": depth, "ef_search": ef_search, "vector_scan": scan},
            "rescore_factor": 4,
        }
        run(connection, storage, queries[:5], settings)
        before = processor_seconds(connection)
        scores[scan] = run(connection, storage, queries, settings)
        times[scan] = 1000 * (processor_seconds(connection) - before) / len(queries)
    recalls = [
        np.mean(np.array(found)[: len(best)] >= best[-1] - 1e-6) * len(found) / len(best)
        for found, best in zip(scores["index"], scores["exact"], strict=True)
    ]
    print(
        f"{storage:8} {size:7} {depth:6} {ef_search:4} {times['exact']:6.2f} {times['index']:6.2f}"
        f" {times['index'] / times['exact']:8.2f} {np.mean(recalls):10.4f} {min(recalls):6.2f}",
        flush=True,
    )


def run(
    connection: psycopg.Connection, storage: str, queries: np.ndarray, settings: dict[str, object]
) -> list[list[float]]:
    """Return the cosines that the arm finds, by query."""
    text = json.dumps(settings)
    return [connection.execute(ARM, [query, storage, text]).fetchone()[0] for query in queries]


def processor_seconds(connection: psycopg.Connection) -> float:
    """Return the processor time that the session's backend has taken."""
    with open(f"/proc/{connection.info.backend_pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
