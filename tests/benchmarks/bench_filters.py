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
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from bench_lexical_data import zipf_texts
from psycopg.conninfo import make_conninfo
from timing import milliseconds, summary

from pgblend.migrations import runner
from support.word_lists import add_word_lists

DIMENSIONS = 384
QUERIES = 40
SHARES = {"0.1 %": 1, "1 %": 10, "10 %": 100, "50 %": 500}
FILTERS = {
    "eq": lambda n: {f"below{n}": True},
    "range": lambda n: {"share": {"lt": n}},
}
ARMS = {
    "vector": "SELECT * FROM vector_list(%(vector)s, NULL, %(collections)s, NULL, %(filter)s,"
    " %(settings)s)",
    "lexical": "SELECT * FROM word_list('lexical', %(query)s, %(collections)s, %(filter)s,"
    " %(settings)s)",
    "collect": "SELECT cardinality(pgblend._filtered_ids(%(filter)s, %(collections)s, 10000))",
}
FILL = """
    SELECT count(stored.document_id)
    FROM (SELECT place, content, place * 7919 % 1000 AS share FROM stage) AS s
    CROSS JOIN LATERAL blend.ingest_document(
        'c', s.place::text, '', '', content_hash => 'given',
        metadata => jsonb_build_object('share', s.share, 'author', 'author ' || s.place % 1000) || (
            SELECT jsonb_object_agg('below' || n, true) FILTER (WHERE s.share < n)
            FROM unnest('{1,10,100,500,1001}'::integer[]) AS n),
        chunks => jsonb_build_array(jsonb_build_object('content', s.content)),
        modified_at => timestamptz '2020-01-01Z' + s.place * interval '20 minutes') AS stored
"""
VECTORS = """
    CREATE TEMP TABLE embedding_stage AS
    SELECT c.id AS chunk_id, s.embedding
    FROM stage AS s
    INNER JOIN pgblend_data.document AS d ON d.source_key = s.place::text
    INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id ORDER BY s.place
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
        add_word_lists(connection)
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute("SELECT blend.add_collection('c', 'simple')")
        connection.execute(
            "SELECT blend.create_embedding_space('bench', 'none', %s, probe => false)",
            [DIMENSIONS],
        )
        connection.execute("DROP INDEX pgblend_data.embedding_bench_embedding_hnsw")
        connection.execute(
            "CREATE TEMP TABLE stage (place integer, content text, embedding vector)"
        )
        with connection.cursor().copy("COPY stage FROM STDIN") as copy:
            rows = zip(islice(zipf_texts(passages), passages), vectors(passages, 1), strict=True)
            for place, (text, vector) in enumerate(rows):
                copy.write_row((place, text, json.dumps(np.round(vector, 4).tolist())))
        connection.execute("ANALYZE stage")
        connection.execute(FILL)
        connection.execute(VECTORS)
        connection.execute("SELECT pgblend._store_embeddings('bench')")
        connection.execute(
            "CREATE INDEX embedding_bench_embedding_hnsw ON pgblend_data.embedding_bench"
            " USING hnsw (embedding vector_cosine_ops)"
        )
        connection.commit()
        connection.execute("SELECT blend.grant_collection('c', 'pgblend_reader')")
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")


Cases = dict[str, dict[str, object] | None]


def measure(
    connection: psycopg.Connection, statement: str, cases: Cases, shared: dict[str, object]
) -> list[figures.Row]:
    """Time one statement under each filter; `rows` are those that came back on average."""
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
            found: list[object] = []
            run = partial(
                lambda out, values: out.extend(connection.execute(statement, values)), found, given
            )
            times[case].append(milliseconds(run))
            rows[case] += len(found)
    measured = [
        {"system": case, **summary(of_case[2:]), "rows": rows[case] / len(of_case)}
        for case, of_case in times.items()
    ]
    return figures.with_ratios(measured, "none")


def main(url: str, passages: str = "100000", role: str = "superuser") -> None:
    """Measure every arm under every filter."""
    name = f"bench_filters_{passages}"
    with psycopg.connect(url) as connection:
        known = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchone()
    if known is None:
        make_database(url, name, int(passages))
    rows: list[figures.Row] = []
    cases: Cases = {"none": None}
    for kind, make in FILTERS.items():
        cases |= {f"{kind} {share}": make(limit) for share, limit in SHARES.items()}
    with psycopg.connect(make_conninfo(url, dbname=name), autocommit=True) as connection:
        connection.execute("SET search_path = public, blend")
        if role == "reader":
            connection.execute("SET ROLE pgblend_reader")
        found = connection.execute("SELECT id FROM pgblend_data.collection").fetchall()
        for arm, statement in ARMS.items():
            for depth in (15, 100) if arm != "collect" else (15,):
                settings = connection.execute(
                    "SELECT pgblend._search_settings(%s, NULL, NULL)::text",
                    [json.dumps({"candidate_depth": depth, "timeouts_ms": {"lexical": 60000}})],
                ).fetchone()[0]
                case = f"{arm}, depth {depth}, {passages} passages, as {role}"
                shared = {"collections": [row[0] for row in found], "settings": settings}
                measured = measure(connection, statement, cases, shared)
                rows += [{"case": case, **row} for row in measured]
    figures.write("filters", rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
