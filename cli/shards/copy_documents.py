"""Documents of some buckets, from a shard to one that is not searched yet.

A pass copies what changed since the last one. So it may be killed, and the next goes on. The rows
go in by the target's own triggers, which index them.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from pgblend.cli.database import Connection, connect, fetch_rows

_BATCH = 200
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_MARKERS = "SELECT m.document_id, m.marker FROM pgblend._document_markers(%s::smallint[]) AS m"
_COPIED = "SELECT c.document_id, c.marker FROM pgblend_data.shard_copy AS c ORDER BY c.document_id"
# Whole rows of documents, in the order of their keys; what belongs to a worker or says where a link
# leads is found anew.
_TABLES = """
    SELECT quote_ident(t.name) AS name, t.key,
        string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns,
        string_agg(CASE WHEN a.attname IN ('worker', 'target_document_id') THEN 'NULL'
            ELSE quote_ident(a.attname) END, ', ' ORDER BY a.attnum) AS columns_given
    FROM (
        VALUES (1, 'document', 'id'), (2, 'chunk', 'document_id'), (3, 'link', 'document_id'),
            (4, 'document_summary', 'document_id'), (5, 'embedding_queue', 'document_id'),
            (7, 'key_reference', 'document_id')
        UNION ALL
        SELECT 6, s.table_name, 'document_id' FROM pgblend_data.embedding_space AS s
    ) AS t (place, name, key)
    INNER JOIN pg_catalog.pg_attribute AS a
        ON a.attrelid = format('pgblend_data.%I', t.name)::regclass
        AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    GROUP BY t.place, t.name, t.key
    ORDER BY t.place, t.name
"""
_DELETE = """
    DELETE FROM pgblend_data.document AS d WHERE d.id = ANY(%(ids)s);
"""
_NOTHING_WAITS = """
    DELETE FROM pgblend_data.embedding_queue AS q
    USING pgblend_data.chunk AS c
    WHERE q.chunk_id = c.id AND c.document_id = ANY(%(ids)s)
"""
_NO_SUMMARIES = "DELETE FROM pgblend_data.document_summary AS s WHERE s.document_id = ANY(%(ids)s)"
_FORGET = "DELETE FROM pgblend_data.shard_copy AS c WHERE c.document_id = ANY(%(ids)s)"
_NOTE = """
    INSERT INTO pgblend_data.shard_copy (document_id, marker)
    SELECT m.id, m.marker FROM unnest(%(ids)s::bigint[], %(markers)s::bigint[]) AS m (id, marker)
    WHERE m.marker IS NOT NULL
"""
_STAGE = """
    CREATE TEMP TABLE IF NOT EXISTS {0}_stage (LIKE pgblend_data.{0}) ON COMMIT DELETE ROWS
"""
# An edge is where the document is that says so, else its source; what it leads to may be elsewhere.
_STORE_GRAPH = """
    DELETE FROM pgblend_data.edge;
    INSERT INTO pgblend_data.entity OVERRIDING SYSTEM VALUE
    SELECT s.* FROM pg_temp.entity_stage AS s
    ON CONFLICT DO NOTHING;
    INSERT INTO pgblend_data.edge
    SELECT s.* FROM pg_temp.edge_stage AS s
    WHERE EXISTS (
        SELECT FROM pgblend._node_facts(ARRAY[CASE
            WHEN s.document_id <> 0 THEN s.document_id * 4
            WHEN s.is_reverse THEN s.neighbour
            ELSE s.node END]));
    UPDATE pgblend_data.link AS l SET target_document_id = s.target_document_id
    FROM pg_temp.link_stage AS s
    WHERE l.id = s.id AND l.target_document_id IS DISTINCT FROM s.target_document_id;
    INSERT INTO pgblend_data.entity_extraction SELECT s.* FROM pg_temp.entity_extraction_stage AS s
    ON CONFLICT DO NOTHING;
    DELETE FROM pgblend_data.graph_change
"""

_NO_MORE: tuple[Any, None] = (math.inf, None)  # comes after all documents

Change = tuple[Any, int | None]


def copy_changes(source_url: str, target_url: str, buckets: Sequence[int]) -> int:
    """Give the target what the source has of the buckets now; return how many documents changed."""
    count = 0
    with (
        connect(source_url) as source,
        connect(target_url) as target,
        connect(target_url) as copied,
        source.transaction(),
        copied.transaction(),
    ):
        source.execute(_SNAPSHOT)
        tables = fetch_rows(target, _TABLES)
        with source.cursor("markers") as there, copied.cursor("copied") as here:
            there.execute(_MARKERS, [list(buckets)])
            here.execute(_COPIED)
            changes = differences(there, here)
            while batch := list(islice(changes, _BATCH)):
                with target.transaction():
                    _copy_documents(source, target, tables, batch)
                count += len(batch)
    return count


def differences(there: Iterator[Any], here: Iterator[Any]) -> Iterator[Change]:
    """Yield the documents, in the order of both, whose markers differ; None where one is gone."""
    own, other = next(there, _NO_MORE), next(here, _NO_MORE)
    while own != other or own is not _NO_MORE:
        if own[0] < other[0]:
            yield own
            own = next(there, _NO_MORE)
        elif other[0] < own[0]:
            yield other[0], None
            other = next(here, _NO_MORE)
        else:
            if own != other:
                yield own
            own, other = next(there, _NO_MORE), next(here, _NO_MORE)


def copy_graph(source_url: str, target_url: str, elsewhere: Sequence[int]) -> None:
    """Give the target the edges of what it has, and entities whose buckets are not elsewhere.

    Where links lead, and what the coordinator has not looked at yet, comes along.
    """
    others = ", ".join(map(str, elsewhere)) or "NULL"
    conditions = {"entity": f"bucket IN ({others}) IS NOT TRUE"}
    with connect(source_url) as source, connect(target_url) as target, target.transaction():
        for table in ("entity", "entity_extraction", "edge", "link"):
            target.execute(_STAGE.format(table).encode())
            rows = f"SELECT * FROM pgblend_data.{table} WHERE {conditions.get(table, 'true')}"
            _copy(source, target, rows, f"pg_temp.{table}_stage")
        target.execute(_STORE_GRAPH.encode())
        rows = "SELECT * FROM pgblend_data.graph_change"
        _copy(source, target, rows, "pgblend_data.graph_change")


def _copy_documents(
    source: Connection, target: Connection, tables: list[dict[str, Any]], batch: list[Change]
) -> None:
    given = {"ids": [number for number, _ in batch], "markers": [marker for _, marker in batch]}
    for statement in (_DELETE, _FORGET):
        target.execute(statement, given)
    numbers = ", ".join(str(number) for number, _ in batch)
    for table in tables:
        if table["name"] == "document_summary":
            target.execute(_NO_SUMMARIES, given)
        elif table["name"] == "embedding_queue":
            target.execute(_NOTHING_WAITS, given)
        rows = (
            f"SELECT {table['columns_given']} FROM pgblend_data.{table['name']}"
            f" WHERE {table['key']} IN ({numbers})"
        )
        _copy(source, target, rows, f"pgblend_data.{table['name']} ({table['columns']})")
    target.execute(_NOTE, given)


def _copy(source: Connection, target: Connection, rows: str, into: str) -> None:
    with (
        source.cursor().copy(f"COPY ({rows}) TO STDOUT".encode()) as out,
        target.cursor().copy(f"COPY {into} FROM STDIN".encode()) as back,
    ):
        for data in out:
            back.write(data)
