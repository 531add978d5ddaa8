"""Storages of an embedding space by size: recall, nDCG@10, processor time, bytes, building.

    python tests/benchmarks/bench_spaces.py [--storages NAME…] --server URL PASSAGES…

Makes a database of its own on the server, which runs on this machine (kept: bench_spaces), with so
many passages: those of the judged collections, the rest made of their vectors, so judgements have
to be found among others. Each storage's index is built after its vectors are there, by one process.
Recall is the share of the nearest 10 (and 100) passages, by exact cosine of the vectors as they
were given, that the vector arm finds at depth 100; `exact` is the order of those itself. The binary
space is measured for several rescore_factor. Times are the backend's.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from math import log2
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
import numpy as np
import psycopg
from corpora import BLOCK, Question, mixed, mixtures
from numpy.typing import NDArray
from pgvector.psycopg import register_vector
from psycopg.conninfo import make_conninfo
from systems.server_database import server_url
from timing import backend_ms

from pgblend.migrations import runner
from support.word_lists import add_word_lists

NAME = "bench_spaces"
STORAGES = ("vector", "halfvec", "binary")
FACTORS = (1, 2, 4, 8)
DEPTH = 100
# Without the triggers that index words: only vectors are measured.
FILL = """
SET session_replication_role = replica;
INSERT INTO pgblend_data.document (collection_id, bucket, source_key, title, text_search_config,
    metadata, content_hash)
SELECT c.id, 0, n::text, '', 'simple', '{{}}', n::text
FROM generate_series(1, {count}) AS n CROSS JOIN pgblend_data.collection AS c;
INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket, content, kind,
    own_start, token_count, metadata, text_search_config, lexemes, own_position)
SELECT d.id, 0, d.collection_id, 0, 'w' || d.source_key, 'doc', 0, 1, '{{}}', 'simple', '', 0
FROM pgblend_data.document AS d ORDER BY d.id;
RESET session_replication_role;
ANALYZE pgblend_data.document, pgblend_data.chunk;
"""
STORE = """
INSERT INTO pgblend_data.embedding_{name}
    (chunk_id, document_id, chunk_index, collection_id, bucket, embedding)
SELECT c.id, c.document_id, 0, c.collection_id, 0, s.embedding
FROM stage AS s
JOIN pgblend_data.document AS d ON d.source_key = s.place::text
JOIN pgblend_data.chunk AS c ON c.document_id = d.id ORDER BY s.place
"""
ARM = """
SELECT array_agg(c.content ORDER BY u.rank)
FROM vector_list(
    %s, %s, ARRAY(SELECT id FROM pgblend_data.collection), NULL, NULL, %s) AS a
CROSS JOIN unnest(a.chunk_ids) WITH ORDINALITY AS u (chunk_id, rank)
JOIN pgblend_data.chunk AS c ON c.id = u.chunk_id
"""

Vectors = NDArray[np.float32]


class Passages:
    """Vectors of passages in order, their keys, and which is nearest to which question."""

    def __init__(self, count: int) -> None:
        corpus = mixed()
        documents = list(corpus.documents())
        self.keys = [document.key for document in documents]
        random = np.random.default_rng(7)
        made = [
            mixtures(random, min(BLOCK, count - start))
            for start in range(len(documents), count, BLOCK)
        ]
        real = np.stack([document.vector for document in documents])
        self.vectors: Vectors = np.concatenate([real, *made])
        self.questions, self.judgements = corpus.questions, corpus.judgements
        self.nearest = [self._nearest(question.vector) for question in self.questions]

    def _nearest(self, asked: Vectors) -> list[int]:
        """Return the places of the nearest vectors, by exact cosine."""
        cosines = self.vectors @ asked
        candidates = np.sort(np.argpartition(-cosines, DEPTH)[:DEPTH])
        places: list[int] = candidates[np.argsort(-cosines[candidates], kind="stable")].tolist()
        return places

    def quality(self, found: Sequence[Sequence[int]]) -> dict[str, float]:
        """Return recall and nDCG@10 of lists of places."""
        row = {
            f"recall@{depth}": statistics.mean(
                len({*one[:depth]} & {*best[:depth]}) / depth
                for one, best in zip(found, self.nearest, strict=True)
            )
            for depth in (10, DEPTH)
        }
        row["nDCG@10"] = statistics.mean(
            self._ndcg(question, one) for question, one in zip(self.questions, found, strict=True)
        )
        return row

    def _ndcg(self, question: Question, places: Sequence[int]) -> float:
        grades = self.judgements[question.key]
        gains = [
            grades.get(self.keys[place], 0) if place < len(self.keys) else 0
            for place in places[:10]
        ]
        best = sorted(grades.values(), reverse=True)[:10]
        return _dcg(gains) / _dcg(best) if any(best) else 0.0


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def main() -> None:
    """Measure the storages and sizes named on the command line."""
    parser = argparse.ArgumentParser(description="Storages of an embedding space.")
    parser.add_argument(
        "--server", type=server_url, required=True, help="a superuser's URL without a database"
    )
    parser.add_argument("--storages", nargs="+", choices=STORAGES, default=STORAGES)
    parser.add_argument("passages", nargs="+", type=int)
    given = parser.parse_args()
    rows: list[figures.Row] = []
    for size in given.passages:
        passages = Passages(size)
        case = f"{len(passages.vectors):,} passages"
        rows.append({"case": case, "system": "exact", **passages.quality(passages.nearest)})
        with prepared(given.server, passages.vectors) as connection:
            for name in given.storages:
                built = stored(connection, name, passages.vectors.shape[1])
                for factor in FACTORS if name == "binary" else (1,):
                    rows.append({"case": case, "system": f"{name} x {factor}", **built})
                    rows[-1] |= measured(connection, name, factor, passages)
                    print(rows[-1], flush=True)
                connection.execute("SELECT drop_embedding_space(%s, true)", [name])
        figures.write("spaces", rows)


def prepared(server: str, vectors: Vectors) -> psycopg.Connection:
    """Make the database, with the vectors in a table of their own; return a connection to it."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {NAME}")
        admin.execute(f"CREATE DATABASE {NAME}")
    url = make_conninfo(server, dbname=NAME)
    runner.upgrade(url)
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET search_path = blend, pgblend, pgblend_data, public")
    connection.execute("SET maintenance_work_mem = '4GB'; SET max_parallel_maintenance_workers = 0")
    register_vector(connection)
    add_word_lists(connection)
    connection.execute("SELECT add_collection('c', 'simple')")
    connection.execute(FILL.format(count=len(vectors)))
    connection.execute("CREATE TEMP TABLE stage (place integer, embedding vector)")
    with connection.cursor().copy("COPY stage FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "vector"])
        for place, embedding in enumerate(vectors, start=1):
            copy.write_row((place, embedding))
    return connection


def stored(connection: psycopg.Connection, name: str, dimensions: int) -> figures.Row:
    """Make and fill a space, its index last; return what it took."""
    connection.execute(
        "SELECT create_embedding_space(%s, 'm', %s, %s, probe => false)", [name, dimensions, name]
    )
    index = f"embedding_{name}_embedding_hnsw"
    connection.execute("SELECT index_embedding_space(%s, false)", [name])
    started = backend_ms(connection)
    connection.execute(STORE.format(name=name))
    filled = backend_ms(connection)
    connection.execute("SELECT index_embedding_space(%s)", [name])
    built = backend_ms(connection)
    connection.execute(f"VACUUM ANALYZE pgblend_data.embedding_{name}")
    ((table, size),) = connection.execute(
        "SELECT pg_table_size(%s::regclass), pg_relation_size(%s::regclass)",
        [f"embedding_{name}", index],
    )
    return {
        "table_mb": table / 2**20,
        "index_mb": size / 2**20,
        "fill_s": (filled - started) / 1000,
        "build_s": (built - filled) / 1000,
    }


def measured(
    connection: psycopg.Connection, name: str, factor: float, passages: Passages
) -> figures.Row:
    """Return recall, nDCG and processor time of the arm in a space."""
    settings = {"candidate_depth": DEPTH, "ef_search": DEPTH, "vector_scan": "index"}
    text = json.dumps(settings | {"rescore_factor": factor})
    found, times = [], []
    for question in [*passages.questions[:20], *passages.questions]:  # some to warm it up
        before = backend_ms(connection)
        ((contents,),) = connection.execute(ARM, [question.vector, name, text])
        times.append(backend_ms(connection) - before)
        found.append([int(content[1:]) - 1 for content in contents or []])
    return {**passages.quality(found[20:]), "cpu": statistics.median(times[20:])}


if __name__ == "__main__":
    main()
