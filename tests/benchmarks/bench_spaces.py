"""Size and recall of the storages of an embedding space, on real vectors.

    python tests/benchmarks/bench_spaces.py SERVER_URL FILE.npz…

Makes a database of its own on the server (kept: bench_spaces) with one passage for each vector of
all files, in a space of each storage. Recall is the share of the nearest 10 (and 100) passages, by
exact cosine of the vectors as they were given, that the index finds; all queries of the files are
asked. Bytes a vector are those of the table and of the HNSW index. The binary space is measured
for several rescore_factor, and with Jaccard distance in place of Hamming's.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import make_conninfo

from pgblend.migrations import runner
from support.word_lists import add_word_lists

NAME = "bench_spaces"
STORAGES = ("vector", "halfvec", "binary")
FACTORS = (1, 2, 4, 8, 16)
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


def main(server: str, files: list[str]) -> None:
    corpus, queries = load(files)
    print(
        f"{len(corpus)} vectors, {len(queries)} queries, {corpus.shape[1]} dimensions", flush=True
    )
    near = nearest(corpus, queries, 100)
    with prepared(server, corpus) as connection:
        for row in connection.execute(
            "SELECT name, table_bytes::float / vectors, pg_relation_size(format("
            "'pgblend_data.embedding_%s_embedding_hnsw', name)::regclass)::float / vectors"
            " FROM blend.count_vectors() ORDER BY name"
        ):
            print("{:8} {:7.0f} bytes a vector in the table {:7.0f} in the HNSW index".format(*row))
        for name in STORAGES:
            for factor in FACTORS if name == "binary" else (1,):
                measure(connection, name, factor, queries, near)
        connection.execute("DROP INDEX pgblend_data.embedding_binary_embedding_hnsw")
        dimensions = corpus.shape[1]
        connection.execute(
            "CREATE INDEX embedding_binary_embedding_hnsw ON pgblend_data.embedding_binary"
            f" USING hnsw ((binary_quantize(embedding)::bit({dimensions})) bit_jaccard_ops)"
        )
        jaccard(connection, queries, near, dimensions)


def load(files: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Join the vectors of all files."""
    sets = [np.load(file) for file in files]
    return tuple(
        np.concatenate([each[part].astype(np.float32) for each in sets])
        for part in ("corpus", "queries")
    )


def nearest(corpus: np.ndarray, queries: np.ndarray, depth: int) -> list[list[str]]:
    """Return the contents of the passages nearest to each query, exactly."""
    unit = corpus / np.linalg.norm(corpus, axis=1, keepdims=True)
    return [
        [f"w{place + 1}" for place in np.argsort(-(unit @ query), kind="stable")[:depth]]
        for query in queries
    ]


def prepared(server: str, corpus: np.ndarray) -> psycopg.Connection:
    """Make the database, with a filled space of each storage; return a connection to it."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {NAME}")
        admin.execute(f"CREATE DATABASE {NAME}")
    url = make_conninfo(server, dbname=NAME)
    runner.upgrade(url)
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET search_path = blend, pgblend, pgblend_data, public")
    connection.execute("SET maintenance_work_mem = '1GB'")
    register_vector(connection)
    add_word_lists(connection)
    connection.execute("SELECT add_collection('c', 'simple')")
    connection.execute(FILL.format(count=len(corpus)))
    connection.execute("CREATE TEMP TABLE stage (place integer, embedding vector)")
    with connection.cursor().copy("COPY stage FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "vector"])
        for place, embedding in enumerate(corpus, start=1):
            copy.write_row((place, embedding))
    for name in STORAGES:
        connection.execute(
            "SELECT create_embedding_space(%s, 'm', %s, %s, probe => false)",
            [name, corpus.shape[1], name],
        )
        started = time.perf_counter()
        connection.execute(STORE.format(name=name))
        seconds = time.perf_counter() - started
        print(f"{name:8} {len(corpus) / seconds:7.0f} vectors a second stored and indexed")
    connection.execute("VACUUM ANALYZE")
    return connection


def measure(
    connection: psycopg.Connection,
    name: str,
    factor: float,
    queries: np.ndarray,
    near: list[list[str]],
) -> None:
    """Print recall and time of the arm in a space."""
    settings = {"candidate_depth": 100, "ef_search": 100, "vector_scan": "index"}
    text = json.dumps(settings | {"rescore_factor": factor})
    found, times = [], []
    for query in queries:
        started = time.perf_counter()
        row = connection.execute(ARM, [query, name, text]).fetchone()
        times.append(time.perf_counter() - started)
        found.append(row[0] if row and row[0] else [])
    report(f"{name} x {factor}", found, times, near)


def jaccard(
    connection: psycopg.Connection, queries: np.ndarray, near: list[list[str]], dimensions: int
) -> None:
    """Print the same for an index by Jaccard distance; the first 400 are re-scored."""
    bits = f"binary_quantize({{}}::halfvec({dimensions}))::bit({dimensions})"
    statement = (
        "SELECT array_agg(f.content ORDER BY f.distance) FROM (SELECT c.content,"
        f" e.embedding <=> %(q)s::halfvec({dimensions}) AS distance FROM (SELECT *"
        f" FROM pgblend_data.embedding_binary AS i ORDER BY {bits.format('i.embedding')} <%%>"
        f" {bits.format('%(q)s')} LIMIT 400) AS e JOIN pgblend_data.chunk AS c ON c.id = e.chunk_id"
        " ORDER BY distance LIMIT 100) AS f"
    ).replace("binary_quantize(i.embedding::halfvec", "binary_quantize((i.embedding)::halfvec")
    connection.execute("SET hnsw.ef_search = 400; SET enable_seqscan = off")
    found, times = [], []
    for query in queries:
        started = time.perf_counter()
        row = connection.execute(statement, {"q": query}).fetchone()
        times.append(time.perf_counter() - started)
        found.append(row[0] if row and row[0] else [])
    report("jaccard x 4", found, times, near)


def report(name: str, found: list[list[str]], times: list[float], near: list[list[str]]) -> None:
    at = {
        depth: np.mean(
            [
                len(set(one[:depth]) & set(best[:depth])) / depth
                for one, best in zip(found, near, strict=True)
            ]
        )
        for depth in (10, 100)
    }
    print(
        f"{name:12} recall@10 {at[10]:.4f} recall@100 {at[100]:.4f}"
        f" median {1000 * np.median(times):.2f} ms"
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
