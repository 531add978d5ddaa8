"""Edges of foreign keys between attached tables, whose rows are documents of several shards.

A shard keeps what its rows reference, and notes keys of rows that came or reference something else.
Which collection a foreign key leads to, the coordinator alone knows, and it makes the edges.
"""

from collections import defaultdict
from collections.abc import Sequence

from pgblend.plpy.session import Database, Row
from pgblend.plpy.shards.calls import on_shards

_JOINED = """
    SELECT s.collection_id, f.constraint_name, t.collection_id AS target_id
    FROM pgblend_data.attached_table AS s
    CROSS JOIN LATERAL pgblend._foreign_keys(s.relation) AS f
    INNER JOIN pgblend_data.attached_table AS t
        ON t.relation = f.target AND t.key_columns = f.target_columns"""


def join_rows(db: Database, changes: Sequence[Row]) -> None:
    """Make the edges from and to rows that shards noted."""
    noted: defaultdict[int, set[str]] = defaultdict(set)
    for change in changes:
        if change["source_key"] is not None:
            noted[change["collection_id"]].add(change["source_key"])
    joined = db.run(_JOINED, []) if noted else []
    asked = [
        {
            "collection_id": one["collection_id"],
            "foreign_key": one["constraint_name"],
            "source_keys": sorted(noted.get(one["collection_id"], ())),
            "target_keys": sorted(noted.get(one["target_id"], ())),
        }
        for one in joined
        if one["collection_id"] in noted or one["target_id"] in noted
    ]
    references = on_shards(db, "pgblend._references", {"asked": asked}) if asked else []
    targets = {(one["collection_id"], one["constraint_name"]): one["target_id"] for one in joined}
    names: defaultdict[tuple[int, int, int, str], list[str]] = defaultdict(list)
    wanted: defaultdict[int, set[str]] = defaultdict(set)
    for row in references:
        target = targets[row["collection_id"], row["constraint_name"]]
        ends = row["document_id"], row["collection_id"], target, row["target_key"]
        names[ends].append(row["constraint_name"])
        wanted[target].add(row["target_key"])
    ids = _ids_of(db, wanted)
    edges = [
        {
            "document_id": document,
            "collection_id": collection,
            "target_key": key,
            "target_id": ids[target, key],
            "target_collection_id": target,
            "foreign_keys": names[document, collection, target, key],
        }
        for document, collection, target, key in names
        if (target, key) in ids
    ]
    if edges:
        on_shards(db, "pgblend._store_key_edges", {"edges": edges})


def _ids_of(db: Database, wanted: dict[int, set[str]]) -> dict[tuple[int, str], int]:
    """Return the documents that have some keys, by their collection and key."""
    if not wanted:
        return {}
    asked = [{"collection_id": one, "keys": sorted(keys)} for one, keys in wanted.items()]
    found = on_shards(db, "pgblend._document_ids", {"asked": asked})
    return {(row["collection_id"], row["source_key"]): row["document_id"] for row in found}
