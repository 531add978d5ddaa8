"""Is what searches read in the server's memory?"""

from collections.abc import Iterator

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.doctor.check import Check

_SEARCHES = 5
# Fewer cost no more than half a millisecond.
_FEW_PAGES = 50
_INDEX = """
    SELECT i.indexrelid AS index_id, pg_relation_size(i.indexrelid) AS bytes,
        pg_size_bytes(current_setting('shared_buffers')) AS shared_buffers,
        pg_size_pretty(pg_relation_size(i.indexrelid)) AS size,
        current_setting('shared_buffers') AS shared_buffers_size
    FROM pgblend_data.embedding_space AS s
    INNER JOIN pg_catalog.pg_class AS t
        ON t.relname = s.table_name AND t.relnamespace = 'pgblend_data'::regnamespace
    INNER JOIN pg_catalog.pg_index AS i ON i.indrelid = t.oid
    INNER JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    INNER JOIN pg_catalog.pg_am AS a ON a.oid = c.relam
    WHERE s.active AND a.amname = 'hnsw'
"""
# Counted are pages that this transaction asked for, of the index alone.
_PAGES = """
    SELECT pg_catalog.pg_stat_get_xact_blocks_fetched(%(index_id)s) AS fetched,
        pg_catalog.pg_stat_get_xact_blocks_hit(%(index_id)s) AS found
"""
_SEARCH = """
    SELECT count(*) FROM blend.chunk_embeddings(ARRAY(
        SELECT (SELECT min(c.id) FROM pgblend_data.chunk AS c WHERE c.id >= l.least + l.step * p)
        FROM (
            SELECT min(c.id) AS least, (max(c.id) - min(c.id)) / %(searches)s AS step
            FROM pgblend_data.chunk AS c
        ) AS l CROSS JOIN generate_series(0, %(searches)s - 1) AS p)) AS e
    CROSS JOIN LATERAL blend.vector_search(
        NULL, query_embedding => e.embedding, options => '{"vector_scan": "index"}') AS r
"""


def vector_index_in_memory(connection: Connection) -> Iterator[Check]:
    """Check that some searches find what they walk over in shared_buffers."""
    for index in fetch_rows(connection, _INDEX):
        with connection.transaction():
            (before,) = fetch_rows(connection, _PAGES, index)
            connection.execute(_SEARCH, {"searches": _SEARCHES})
            (after,) = fetch_rows(connection, _PAGES, index)
        fetched = after["fetched"] - before["fetched"]
        if fetched == 0:
            continue
        outside = fetched - (after["found"] - before["found"])
        found = f"{_SEARCHES} searches fetched {fetched:,} pages of the vector index, "
        found += f"{outside:,} of them not in shared_buffers"
        if outside <= _FEW_PAGES * _SEARCHES:
            yield Check("memory", "ok", found)
        elif index["bytes"] > index["shared_buffers"]:
            mend = f"the index has {index['size']}, shared_buffers {index['shared_buffers_size']}: "
            mend += "raise it, or keep vectors smaller (pgblend space create --storage)"
            yield Check("memory", "warning", found, mend)
        else:
            yield Check("memory", "warning", f"{found}: the server is cold", "run: pgblend warm")


CHECKS = (vector_index_in_memory,)
