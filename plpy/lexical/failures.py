"""How the lexical arm ends where its index is damaged or missing."""

from collections.abc import Sequence
from typing import NoReturn

from pgblend.plpy.base.session import Database, ProgramError

_DAMAGED = """
    SELECT c.name FROM pgblend_data.collection AS c WHERE c.id IN (
        SELECT s.collection_id FROM pgblend_data.segment AS s WHERE $1 = 'segment' AND s.id = $2
        UNION ALL
        SELECT p.collection_id FROM pgblend_data.pending AS p
        WHERE $1 = 'pending' AND p.chunk_id = $2)
"""


def report_damage(db: Database, source: str, id_: int, reason: str) -> NoReturn:
    """End with PB002, which names the collection and how to mend its index.

    `source` is segment or pending, `id_` that of the segment or of the pending chunk. The error's
    table is the collection, for those who go on without it.
    """
    (row,) = db.run(_DAMAGED, ["text", "bigint"], source, id_)
    collection, literal = row["name"], row["name"].replace("'", "''")
    raise ProgramError(
        f'the lexical index of collection "{collection}" is damaged: {source} {id_}: {reason}',
        f"Make it anew: SELECT lexical_rebuild('{literal}')",
        "PB002",
        table_name=collection,
    )


_UNINDEXED = """
    SELECT c.name
    FROM pgblend_data.collection AS c
    WHERE c.id = ANY($1)
        AND NOT EXISTS (SELECT FROM pgblend_data.segment AS s WHERE s.collection_id = c.id)
        AND NOT EXISTS (SELECT FROM pgblend_data.pending AS p WHERE p.collection_id = c.id)
        AND EXISTS (SELECT FROM pgblend_data.chunk AS h WHERE h.collection_id = c.id)
    ORDER BY c.name
    LIMIT 1
"""
_HAS_CHUNKS = """
    SELECT EXISTS (
        SELECT FROM pgblend_data.chunk AS c WHERE c.collection_id = ANY($1)) AS found
"""


def check_index(
    db: Database, collection_ids: Sequence[int], bare: Sequence[int], is_strict: bool
) -> None:
    """End with PB002 where a collection, one of those without an index, has chunks.

    If strict, with PB003 where there are no chunks at all.
    """
    for row in db.run(_UNINDEXED, ["bigint[]"], bare) if bare else ():
        raise ProgramError(
            f'collection "{row["name"]}" has no lexical index',
            "Make it: lexical_rebuild, or pgblend reindex --rebuild",
            "PB002",
        )
    if is_strict and not db.run(_HAS_CHUNKS, ["bigint[]"], collection_ids)[0]["found"]:
        raise ProgramError(
            "there are no chunks to search: the lexical index is empty",
            "Ingest documents first.",
            "PB003",
        )
