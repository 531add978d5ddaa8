"""Time of a context of 15 parts from 4 documents, without model calls.

    python tests/benchmarks/bench_context.py SERVER_URL

Makes a database of its own on the server (context_bench, dropped first) with 2,000 documents of
noise and topics of four documents each, whose passages lie apart, so that they are not stitched.
Prints p50 and p95 in milliseconds of hybrid_search (words and a given vector), of get_context over
the same search, and of the assembly alone, as its stats say; rounds alternate.
"""

import json
import random
import sys
import time

import numpy as np
import psycopg
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.token_count import piece_tokens
from pgblend.migrations import runner

DATABASE = "context_bench"
TOPICS = 40
ROUNDS = 5
DIMENSIONS = 384
SEARCH = "SELECT * FROM blend.hybrid_search(%s, 15, options => %s, query_embedding => %s)"
CONTEXT = "SELECT blend.get_context(%s, 15, options => %s, query_embedding => %s)"
OPTIONS = json.dumps({"mode": "fast", "max_tokens": 16000, "timeouts_ms": {"lexical": 60000}})


def passage(words: list[str], topic: str, chance: random.Random) -> str:
    """Return some 380 tokens in lines, with the topic's word among them."""
    lines = [" ".join(chance.choices(words, k=12)) for _ in range(20)]
    return "\n".join([f"About {topic}: {lines[0]}", *lines[1:]])


def document(words: list[str], topic: str, passages: int, chance: random.Random) -> str:
    """Return chunks of a document; every other one is about the topic."""
    chunks = []
    for number in range(2 * passages):
        text = passage(words, topic if number % 2 else "nothing", chance)
        tokens = piece_tokens(text)
        first = number * 20 + 1
        chunks.append(
            {"content": text, "token_count": sum(tokens), "piece_tokens": tokens,
             "start_line": first, "end_line": first + 19}
        )  # fmt: skip
    return json.dumps(chunks)


def load(connection: psycopg.Connection) -> None:
    """Fill the database."""
    chance = random.Random(5)
    words = [
        "".join(chance.choices("abcdefghiklmnoprstu", k=chance.randint(3, 9))) for _ in range(9000)
    ]
    connection.execute("SELECT blend.add_collection('bench', 'simple')")
    connection.execute(
        "SELECT blend.create_embedding_space('bench', 'none', %s, probe => false)", [DIMENSIONS]
    )
    for number in range(2000 + 4 * TOPICS):
        is_topic = number < 4 * TOPICS
        topic = f"topic{number // 4}" if is_topic else "noise"
        # 4 + 4 + 4 + 3 passages of a topic make 15 parts
        chunks = document(words, topic, (3 if number % 4 == 3 else 4) if is_topic else 1, chance)
        connection.execute(
            "SELECT blend.ingest_document('bench', %s, '', %s, chunks => %s)",
            [str(number), f"Document {number}", chunks],
        )
    generator = np.random.default_rng(5)
    ids = [row[0] for row in connection.execute("SELECT id FROM pgblend_data.chunk ORDER BY id")]
    vectors = generator.normal(size=(len(ids), DIMENSIONS)).astype(np.float32)
    connection.execute("CREATE TEMP TABLE embedding_stage (chunk_id bigint, embedding vector)")
    with connection.cursor().copy("COPY pg_temp.embedding_stage FROM STDIN") as copy:
        for chunk_id, vector in zip(ids, vectors, strict=True):
            copy.write_row((chunk_id, str(vector.tolist())))
    connection.execute("SELECT pgblend._store_embeddings('bench')")
    connection.execute("SELECT blend.lexical_seal('bench')")
    connection.execute("ANALYZE")


def main(server: str) -> None:
    """Load, ask, print."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {DATABASE}")
    url = make_conninfo(server, dbname=DATABASE)
    runner.upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        load(connection)
        connection.execute("SET client_min_messages = error")
        vector = str(np.random.default_rng(7).normal(size=DIMENSIONS).tolist())
        options = json.dumps(json.loads(OPTIONS) | {"weights": {"lexical": 1000, "vector": 0.001}})
        times: dict[str, list[float]] = {"hybrid_search": [], "get_context": [], "assembly": []}
        shapes = set()
        for _ in range(ROUNDS + 1):
            for topic in range(TOPICS):
                values = [f"topic{topic}", options, vector]
                start = time.perf_counter()
                connection.execute(SEARCH, values).fetchall()
                middle = time.perf_counter()
                row = connection.execute(CONTEXT, values).fetchone()
                end = time.perf_counter()
                assert row is not None
                stats = row[0]["stats"]
                shapes.add((stats["parts"], stats["files"], stats["estimated_tokens"]))
                times["hybrid_search"].append(1000 * (middle - start))
                times["get_context"].append(1000 * (end - middle))
                times["assembly"].append(stats["ms"]["assembly"])
        print(f"(parts, files, estimated tokens): {sorted(shapes)}")
        for name, taken in times.items():
            p50, p95 = np.percentile(taken[TOPICS:], [50, 95])  # without the first round
            print(f"{name:14} p50 {p50:6.2f} ms   p95 {p95:6.2f} ms")
        ratio = np.median(times["get_context"][TOPICS:]) / np.median(
            times["hybrid_search"][TOPICS:]
        )
        print(f"get_context / hybrid_search {ratio:.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
