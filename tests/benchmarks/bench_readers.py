"""Time of searches where documents have readers of their own, against none that has.

    python tests/benchmarks/bench_readers.py SERVER_URL [DOCUMENTS] [GROUPS…]

Makes a database for each number of groups on the server (kept: bench_readers_GROUPS), with
DOCUMENTS of one passage and 64-dimensional vectors. Document n is for group n modulo GROUPS; with 0
groups none has readers. Asked as one who holds all groups, and as one who holds the first.
Processor time of the server's process, in rounds that take turns; ratios of medians to 0 groups.
At rest, after a transaction that wrote and after a stored document, before each call: a session
looks then whether what it kept still counts.
Where there are groups enough, recall@10 of vector_search for a reader of 1 % and of .1 %. Of words
that only hidden documents have, and words that none has, how well times tell them apart (AUC).
"""

import json
import random
import sys
from itertools import islice, product
from pathlib import Path

import numpy as np
import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_lexical_data import VOCABULARY, zipf_texts
from psycopg.conninfo import make_conninfo
from timing import backend_ms, summary

from pgblend.migrations import runner

DIMENSIONS, QUERIES, ROUNDS, AT_ONCE, WORDS = 64, 30, 3, 500, 5000
ROLE = "bench_readers_reader"
FILL = """
    SELECT count(*) FROM pgblend._store_at_home(
        (SELECT c FROM pgblend_data.collection AS c WHERE c.name = 'c' AND c.parent_id IS NULL),
        ARRAY(
            SELECT pgblend._document_row(
                c, s.key, s.content, '', NULL, '{}', NULL, NULL, NULL, NULL)
            FROM jsonb_to_recordset(%(rows)s) AS s (key text, content text)
            INNER JOIN pgblend_data.collection AS c ON c.name = 'c' AND c.parent_id IS NULL),
        ARRAY(SELECT s.content FROM jsonb_to_recordset(%(rows)s) AS s (content text)), '{}', NULL,
        ARRAY(SELECT s.readers FROM jsonb_to_recordset(%(rows)s) AS s (readers jsonb)))
"""
CALLS = {
    "lexical": "SELECT count(*) FROM lexical_search(%(query)s)",
    "hybrid": "SELECT count(*) FROM hybrid_search(%(query)s, query_embedding => %(vector)s)",
}

CHANGES = {
    "at rest": "SELECT 1",
    "after a write": "SELECT pg_current_xact_id()",
    "after a document": """
        SELECT ingest_document('c', 'new', format('New: %%s', random()), readers => %(one)s)
    """,
}


def vectors(count: int, seed: int) -> list[str]:
    """Return vectors, the same for the same seed."""
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSIONS))
    return [json.dumps(np.round(row, 3).tolist()) for row in rows]


def make_database(url: str, documents: int, groups: int) -> str:
    """Make and fill a database; return where it is."""
    name = f"bench_readers_{groups}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    own = make_conninfo(url, dbname=name, options="-c search_path=blend,public")
    runner.upgrade(own)
    with psycopg.connect(own, autocommit=True) as connection:
        connection.execute("SELECT add_collection('c', 'simple')")
        connection.execute(f"SELECT grant_collection('c', '{ROLE}')")
        connection.execute("SELECT create_embedding_space('bench', 'none', 64, probe => false)")
        texts = list(islice(zipf_texts(documents), documents))
        for start in range(0, documents, AT_ONCE):
            rows = [
                {"key": str(n), "content": texts[n]}
                | ({"readers": [f"group:g{n % groups}"]} if groups else {})
                for n in range(start, min(start + AT_ONCE, documents))
            ]
            connection.execute(FILL, {"rows": json.dumps(rows)})
        with connection.transaction():
            connection.execute("CREATE TEMP TABLE vector_of (key text, embedding vector)")
            with connection.cursor().copy("COPY vector_of FROM STDIN") as copy:
                for place, vector in enumerate(vectors(documents, 1)):
                    copy.write_row((str(place), vector))
            connection.execute(
                "CREATE TEMP TABLE embedding_stage AS SELECT c.id AS chunk_id, v.embedding"
                " FROM pgblend_data.chunk AS c INNER JOIN pgblend_data.document AS d"
                " ON c.document_id = d.id INNER JOIN vector_of AS v ON v.key = d.source_key"
            )
            connection.execute("SELECT pgblend._store_embeddings('bench')")
        connection.execute("SELECT lexical_seal('c')")
        connection.execute("VACUUM ANALYZE")
    return own


def session(url: str, held: int) -> psycopg.Connection:
    """Connect as the reader, with so many groups."""
    connection = psycopg.connect(url, autocommit=True)
    if held:
        connection.execute(
            "SELECT set_config('pgblend.groups', sign_groups(%s, %s, '1 day'), false)",
            [[f"g{n}" for n in range(held)], ROLE],
        )
    connection.execute(f"SET ROLE {ROLE}")
    return connection


NEAREST = """
    SELECT chunk_id FROM vector_search(
        result_limit => 10, query_embedding => %s,
        options => jsonb_build_object('vector_scan', %s::text))
"""


def recall(connection: psycopg.Connection, scan: str) -> float:
    """Return the share of the nearest ten, by an exact scan, that another way to scan finds."""
    shares = []
    for vector in vectors(QUERIES, 3):
        exact, found = (
            {row[0] for row in connection.execute(NEAREST, [vector, way])}
            for way in ("exact", scan)
        )
        shares.append(len(exact & found) / len(exact))
    return float(np.mean(shares))


VOCABULARY_OF = """
    SELECT DISTINCT v.lexeme FROM pgblend_data.vocabulary AS v
    INNER JOIN pgblend_data.collection AS c ON c.id = v.collection_id
    LEFT JOIN pgblend_data.document_reader AS r ON r.collection_id = c.id
    WHERE (coalesce(r.reader, 'g0') = 'g0') = %s
"""


def timed_apart(url: str, queries: int) -> float:
    """Return how often a search for a hidden word takes longer than one for a word of nobody.

    .5 is by chance: the area below the curve of who tells them apart by processor time.
    """
    with psycopg.connect(url, autocommit=True) as admin:
        own, others = (
            {row[0] for row in admin.execute(VOCABULARY_OF, [is_own])} for is_own in (True, False)
        )
    chosen = random.Random(5)
    hidden = chosen.choices(sorted(others - own), k=queries)
    unused = sorted({f"word{place}" for place in range(VOCABULARY)} - own - others)
    nobody = chosen.choices(unused, k=queries)
    asked = [(word, True) for word in hidden] + [(word, False) for word in nobody]
    chosen.shuffle(asked)
    times: dict[bool, list[float]] = {True: [], False: []}
    with session(url, 1) as connection:
        for word, is_hidden in asked:
            before = backend_ms(connection)
            connection.execute(CALLS["lexical"], {"query": word})
            times[is_hidden].append(backend_ms(connection) - before)
    ranks = np.array(times[True] + times[False]).argsort().argsort()[:queries]
    return float((ranks.sum() - queries * (queries - 1) / 2) / queries**2)


def main(url: str, documents: int, groups: list[int]) -> None:
    """Make the databases, ask, and print a line for each call and kind of reader."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {ROLE}")
    urls = {count: make_database(url, documents, count) for count in (0, *groups)}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"GRANT pgblend_reader TO {ROLE}")
    writers = {count: psycopg.connect(own, autocommit=True) for count, own in urls.items()}
    sessions = {"0": (session(urls[0], 0), 0)}
    for count in groups:
        sessions[f"{count}, all"] = session(urls[count], count), count
        sessions[f"{count}, one"] = session(urls[count], 1), count
    queries = [" ".join(text.split()[:3]) for text in islice(zipf_texts(QUERIES), QUERIES)]
    asked = list(zip(queries, vectors(QUERIES, 2), strict=True))
    for name, change in product(CALLS, CHANGES):
        times: dict[str, list[float]] = {one: [] for one in sessions}
        for turn, (query, vector) in product(range(ROUNDS + 1), asked):
            for one, (connection, count) in sessions.items():
                writers[count].execute(CHANGES[change], {"one": ["g0"] if count else None})
                before = backend_ms(connection)
                connection.execute(CALLS[name], {"query": query, "vector": vector})
                if turn:
                    times[one].append(backend_ms(connection) - before)
        base = summary(times["0"])["p50"]
        for one, of in times.items():
            ms = summary(of)["p50"]
            print(f"{name}, {one}, {change}: {ms:.2f} ms, {ms / base:.2f}", flush=True)
    for count in groups:
        for held in [held for held in (count // 100, count // 1000) if held]:
            with session(urls[count], held) as connection:
                found = {scan: recall(connection, scan) for scan in ("auto", "index")}
            print(f"recall@10, {held} of {count}: {found}", flush=True)
        print(f"AUC, one of {count}: {timed_apart(urls[count], WORDS):.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(count) for count in sys.argv[3:]])
