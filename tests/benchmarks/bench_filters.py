"""Time of the arms under filters that let 0.1, 1, 10 and 50 % pass, against no filter.

    python tests/benchmarks/bench_filters.py SERVER_URL [PASSAGES] [ROLE]

Makes a database of its own on the server (kept: bench_filters_PASSAGES), with one passage a
document and 384-dimensional vectors around 500 centres. `share` in the metadata tells the filters
apart; `eq` asks by containment (a GIN index), `range` by lt (no index).
ROLE (superuser, reader) is who asks: a reader's rows go through row security.
Rounds alternate, so that a busy machine slows all of them alike; ratios are to no filter.
"""

import json
import sys
import time

import numpy as np
import psycopg
from bench_lexical_data import zipf_texts
from psycopg.conninfo import make_conninfo

from pgblend.migrations import runner

DIMENSIONS = 384
QUERIES = 40
SHARES = {"0.1 %": 1, "1 %": 10, "10 %": 100, "50 %": 500}
FILTERS = {
    "eq": lambda n: {f"below{n}": True},
    "range": lambda n: {"share": {"lt": n}},
}
ARMS = {
    "vector": "SELECT * FROM pgblend._vector_arm(%(vector)s, pgblend._active_space(),"
    " %(collections)s, NULL, %(filter)s, %(settings)s)",
    "lexical": "SELECT * FROM pgblend._lexical_arm(%(query)s, %(collections)s, %(filter)s,"
    " %(settings)s)",
    "collect": "SELECT cardinality(pgblend._filter_chunks(%(filter)s, %(collections)s, 10000))",
}
LOAD = """
CREATE TEMP TABLE stage (place integer, content text, embedding vector);
"""
FILL = """
INSERT INTO pgblend_data.document (collection_id, bucket, source_key, title, text_search_config,
    metadata, content_hash, modified_at)
SELECT c.id, 0, s.place::text, '', 'simple', jsonb_build_object('share', s.share, 'author',
    'author ' || s.place % 1000) || (
        SELECT jsonb_object_agg('below' || n, true) FILTER (WHERE s.share < n)
        FROM unnest('{1,10,100,500,1001}'::integer[]) AS n),
    s.place::text, timestamptz '2020-01-01Z' + s.place * interval '20 minutes'
FROM (SELECT place, place * 7919 % 1000 AS share FROM stage) AS s
CROSS JOIN pgblend_data.collection AS c;
INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket, content, kind,
    own_start, token_count, metadata, text_search_config, lexemes, length)
SELECT d.id, 0, d.collection_id, 0, s.content, 'doc', 0, 40, '{}', d.text_search_config, '', 0
FROM stage AS s JOIN pgblend_data.document AS d ON d.source_key = s.place::text ORDER BY s.place;
INSERT INTO pgblend_data.embedding_bench (chunk_id, document_id, chunk_index, collection_id, bucket,
    embedding)
SELECT c.id, c.document_id, 0, c.collection_id, 0, s.embedding
FROM stage AS s
JOIN pgblend_data.document AS d ON d.source_key = s.place::text
JOIN pgblend_data.chunk AS c ON c.document_id = d.id ORDER BY s.place;
DELETE FROM pgblend_data.embedding_queue;
"""


def vectors(count: int, seed: int) -> np.ndarray:
    """Return vectors around 500 centres, the same for the same seed."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(3).normal(size=(500, DIMENSIONS))
    return centres[random.integers(0, 500, count)] + random.normal(size=(count, DIMENSIONS)) * 1.2


def make_database(url: str, name: str, passages: int) -> None:
    """Make and fill the database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    own = make_conninfo(url, dbname=name)
    runner.upgrade(own)
    with psycopg.connect(own) as connection:
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute("SELECT pgblend.add_collection('c', 'simple')")
        connection.execute(
            "SELECT pgblend.create_embedding_space('bench', 'none', %s)", [DIMENSIONS]
        )
        connection.execute("DROP INDEX pgblend_data.embedding_bench_embedding_hnsw")
        connection.execute(LOAD)
        with connection.cursor().copy("COPY stage FROM STDIN") as copy:
            rows = zip(zipf_texts(passages), vectors(passages, 1), strict=True)
            for place, (text, vector) in enumerate(rows):
                copy.write_row((place, text, json.dumps(np.round(vector, 4).tolist())))
        connection.execute("ANALYZE stage")
        connection.execute(FILL)
        connection.execute(
            "CREATE INDEX embedding_bench_embedding_hnsw ON pgblend_data.embedding_bench"
            " USING hnsw (embedding vector_cosine_ops)"
        )
        connection.commit()
        connection.execute("SELECT pgblend.grant_collection('c', 'pgblend_reader')")
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")


def percentile(times_ms: list[float], share: float) -> float:
    """Return the time that this share of the calls stayed under."""
    return sorted(times_ms)[int(len(times_ms) * share)]


Cases = dict[str, dict[str, object] | None]


def measure(
    connection: psycopg.Connection, statement: str, cases: Cases, shared: dict[str, object]
) -> None:
    """Print one line a case for one statement."""
    texts = list(zipf_texts(1000))[:QUERIES]
    queries = [
        {"query": " ".join(text.split()[:4]), "vector": json.dumps(vector.tolist())}
        for text, vector in zip(texts, vectors(QUERIES, 2), strict=True)
    ]
    times: dict[str, list[float]] = {case: [] for case in cases}
    rows: dict[str, int] = dict.fromkeys(cases, 0)
    for query in [*queries[:2], *queries]:  # the first ones warm the session up
        for case, conditions in cases.items():
            given = query | shared | {"filter": conditions and json.dumps(conditions)}
            start = time.perf_counter()
            found = connection.execute(statement, given).fetchall()
            times[case].append((time.perf_counter() - start) * 1e3)
            rows[case] += len(found)
    base = percentile(times["none"][2:], 0.5)
    for case, measured in times.items():
        p50, p95 = percentile(measured[2:], 0.5), percentile(measured[2:], 0.95)
        print(
            f"  {case:14} p50 {p50:7.2f}  p95 {p95:7.2f}  p50 / none {p50 / base:6.2f}"
            f"  rows {rows[case] / len(measured):6.1f}",
            flush=True,
        )


def main(url: str, passages: str = "100000", role: str = "superuser") -> None:
    """Measure, and print one line a case."""
    name = f"bench_filters_{passages}"
    with psycopg.connect(url) as connection:
        known = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchone()
    if known is None:
        make_database(url, name, int(passages))
    cases: Cases = {"none": None}
    for kind, make in FILTERS.items():
        cases |= {f"{kind} {share}": make(limit) for share, limit in SHARES.items()}
    with psycopg.connect(make_conninfo(url, dbname=name), autocommit=True) as connection:
        connection.execute("SET search_path = public, pgblend")
        if role == "reader":
            connection.execute("SET ROLE pgblend_reader")
        found = connection.execute("SELECT id FROM pgblend_data.collection").fetchall()
        for arm, statement in ARMS.items():
            for depth in (15, 100) if arm != "collect" else (15,):
                settings = connection.execute(
                    "SELECT pgblend._search_settings(%s, NULL, NULL)::text",
                    [json.dumps({"candidate_depth": depth, "timeouts_ms": {"lexical": 60000}})],
                ).fetchone()[0]
                print(f"{arm}, depth {depth}, {passages} passages, as {role}")
                shared = {"collections": [row[0] for row in found], "settings": settings}
                measure(connection, statement, cases, shared)


if __name__ == "__main__":
    main(*sys.argv[1:])
