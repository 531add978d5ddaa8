"""Neighbours on 100,000 nodes and a million edges: a loop over frontiers against one query.

    python tests/benchmarks/bench_graph.py --database-url URL [--nodes N] [--edges M] [--queries Q]

URL is a migrated database that may be filled: a collection `bench` is made where there is none.
Targets are drawn with a bias to small numbers, so that there are hubs. Printed are median and 95th
percentile in ms of the whole call, its nodes, and the server's planning included, on one warm
connection; both walks start from the same nodes in turn, so that other load meets them alike.
"""

import argparse
import random
import time
from typing import Any

import numpy as np
import psycopg

_DOCUMENTS = """
    INSERT INTO pgblend_data.document (
        collection_id, bucket, source_key, title, text_search_config, metadata, content_hash)
    SELECT c.id, n %% 4096, 'k' || n, 'Title ' || n, 'english', '{}', 'x'
    FROM pgblend_data.collection AS c, generate_series(1, %(nodes)s) AS n
    WHERE c.name = 'bench'
"""
_EDGES = """
    WITH numbered AS MATERIALIZED (
        SELECT array_agg(d.id ORDER BY d.id) AS ids, min(d.collection_id) AS collection_id
        FROM pgblend_data.document AS d
        JOIN pgblend_data.collection AS c ON c.id = d.collection_id AND c.name = 'bench'
    ), pair AS MATERIALIZED (
        SELECT 1 + floor(random() * %(nodes)s)::integer AS source,
            1 + floor(random() ^ 2 * %(nodes)s)::integer AS target, random() AS weight
        FROM generate_series(1, %(edges)s)
    )
    INSERT INTO pgblend_data.edge (
        node, is_reverse, neighbour, edge_type, origin, document_id, collection_id,
        neighbour_collection_id, bucket, weight)
    SELECT CASE WHEN w.is_reverse THEN b ELSE a END * 4, w.is_reverse,
        CASE WHEN w.is_reverse THEN a ELSE b END * 4, 'link', 'data', a, n.collection_id,
        n.collection_id, 0, p.weight
    FROM numbered AS n, pair AS p
    CROSS JOIN LATERAL (SELECT n.ids[p.source] AS a, n.ids[p.target] AS b) AS ends
    CROSS JOIN (VALUES (false), (true)) AS w (is_reverse)
    WHERE a <> b
    ON CONFLICT DO NOTHING
"""
_LOOP = """
    SELECT cardinality(w.nodes) FROM pgblend._walk(
        ARRAY[%(node)s::bigint], %(depth)s, %(direction)s, NULL, %(limit)s) AS w
"""
_RECURSIVE = """
    WITH RECURSIVE walk (node, depth) AS (
        VALUES (%(node)s::bigint, 0)
        UNION
        SELECT e.neighbour, w.depth + 1
        FROM walk AS w
        JOIN pgblend_data.edge AS e ON e.node = w.node
        WHERE w.depth < %(depth)s AND e.is_reverse = ANY (%(ways)s::boolean[])
    ), nearest AS (
        SELECT w.node, min(w.depth) AS depth FROM walk AS w GROUP BY w.node
    )
    SELECT count(*) FROM (
        SELECT * FROM nearest AS n ORDER BY n.depth, n.node LIMIT %(limit)s
    ) AS cut
"""
_WAYS = {"out": [False], "both": [False, True]}


def fill(connection: Any, nodes: int, edges: int) -> None:
    """Make the collection with its documents and edges, where there is none."""
    if connection.execute("SELECT FROM blend.collections WHERE name = 'bench'").fetchone():
        return
    connection.execute("SELECT blend.add_collection('bench')")
    connection.execute("SET session_replication_role = replica")  # no triggers: names are not asked
    connection.execute(_DOCUMENTS, {"nodes": nodes})
    connection.execute(_EDGES, {"nodes": nodes, "edges": edges})
    connection.execute("RESET session_replication_role")
    connection.execute("VACUUM ANALYZE pgblend_data.edge, pgblend_data.document")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    arguments = parser.parse_args()
    with psycopg.connect(arguments.database_url, autocommit=True) as connection:
        fill(connection, arguments.nodes, arguments.edges)
        seeds = [
            row[0] * 4
            for row in connection.execute(
                "SELECT id FROM pgblend_data.document WHERE source_key LIKE 'k%'"
            )
        ]
        chosen = random.Random(1).sample(seeds, arguments.queries)
        print(f"{'walk':22}{'loop p50':>10}{'p95':>9}{'recursive p50':>15}{'p95':>9}{'nodes':>9}")
        for direction, ways in _WAYS.items():
            for limit in (1000, 100_000):
                for depth in (1, 2, 3):
                    walk = {"depth": depth, "direction": direction, "ways": ways, "limit": limit}
                    measure(connection, chosen, walk)


def measure(connection: Any, seeds: list[int], walk: dict[str, Any]) -> None:
    """Print a line of figures."""
    times: dict[str, list[float]] = {_LOOP: [], _RECURSIVE: []}
    found = []
    for place, node in enumerate(seeds):
        for statement, taken in times.items():
            began = time.perf_counter()
            count = connection.execute(statement, walk | {"node": node}).fetchone()[0]
            if place >= 5:  # the plans are made
                taken.append((time.perf_counter() - began) * 1000)
        found.append(count)
    name = f"{walk['direction']} depth {walk['depth']} ≤ {walk['limit']:,}"
    figures = [np.percentile(taken, share) for taken in times.values() for share in (50, 95)]
    print("{:22}{:10.2f}{:9.2f}{:15.2f}{:9.2f}{:9.0f}".format(name, *figures, np.median(found)))


if __name__ == "__main__":
    main()
