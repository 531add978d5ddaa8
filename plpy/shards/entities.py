"""Entities that passages of all shards share.

An entity is on the shard of its own bucket, its edges are with the passages that say so. Every call
commits on its shard, and may come again.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pgblend.plpy.session import Database, UserError
from pgblend.plpy.shards.calls import collection_name, on_shards

MOST_PASSAGES = 500  # of a shard
_MOST_TURNS = 100
_SHARDS = (
    "SELECT b.shard FROM unnest($2) WITH ORDINALITY AS k (key, place)"
    " INNER JOIN pgblend_data.shard_bucket AS b ON b.bucket = pgblend._bucket($1, k.key)"
    " ORDER BY k.place"
)
Key = tuple[str, str]


def link_entities(db: Database, collection_id: int, version: str) -> int:
    """Join passages to the entities that a model found in them; return how many have any."""
    collection = collection_name(db, collection_id)
    if collection is None:
        return 0
    asked = {"collection": collection, "version": version}
    on_shards(db, "pgblend._clear_entity_edges", asked)
    after: dict[int, int] = {}
    joined = 0
    while True:
        page = {"after": after, "most": MOST_PASSAGES}
        rows = on_shards(db, "pgblend._passage_entities", asked | page)
        if not rows:
            return joined
        for row in rows:
            after[row["shard"]] = max(row["chunk_id"], after.get(row["shard"], 0))
        passages = [row for row in rows if row["entities"]]
        if passages:
            _join(db, collection_id, asked, sorted(passages, key=lambda row: row["chunk_id"]))
        joined += len(passages)


def drop_lone_entities(db: Database, nodes: Sequence[int]) -> None:
    """Delete those of some nodes that are entities of which no shard has an edge."""
    asked = [node for node in nodes if node & 3 == 2]
    if not asked:
        return
    marks = on_shards(db, "pgblend._entity_marks", {"nodes": asked})
    joined = {*on_shards(db, "pgblend._joined_nodes", {"nodes": asked})}
    lone = [one for one in marks if one["node"] not in joined]
    if lone:
        on_shards(db, "pgblend._drop_entities", {"marks": lone})


def _join(
    db: Database, collection_id: int, asked: Mapping[str, Any], passages: Sequence[Any]
) -> None:
    """Store entities and then their edges; anew where an entity went before its edges came."""
    keep = partial(_keep, db, collection_id, asked["collection"], _merged(passages))
    nodes = keep(is_first=True)
    for _ in range(_MOST_TURNS):
        joins = [{"chunk_id": one["chunk_id"], "edges": _edges_of(one, nodes)} for one in passages]
        on_shards(db, "pgblend._join_passages", {**asked, "passages": joins})
        kept = keep(is_first=False)
        if kept == nodes:
            return
        nodes = kept
    raise UserError("entities went while their edges came, again and again", "run this again")


def _merged(passages: Sequence[Any]) -> Mapping[Key, Mapping[str, Any]]:
    """Return each entity once, named as it is first met, with the first description."""
    entities: dict[Key, dict[str, Any]] = {}
    for entity in (entity for one in passages for entity in one["entities"]):
        first = entities.setdefault((entity["type"], entity["key"]), dict(entity))
        first["description"] = first["description"] or entity["description"]
    return entities


def _keep(
    db: Database,
    collection_id: int,
    collection: str,
    entities: Mapping[Key, Mapping[str, Any]],
    *,
    is_first: bool,
) -> Mapping[Key, int]:
    """Store entities, each on its shard, and return their nodes.

    One whose bucket moves meanwhile is stored where it is then.
    """
    nodes: dict[Key, int] = {}
    for _ in range(_MOST_TURNS):
        missing = [key for key in entities if key not in nodes]
        names = [":".join(key) for key in missing]
        shards = db.run(_SHARDS, ["bigint", "text[]"], collection_id, names)
        given = [
            {**entities[key], "shard": row["shard"]}
            for key, row in zip(missing, shards, strict=True)
        ]
        call = {"collection": collection, "entities": given, "is_first": is_first}
        for row in on_shards(db, "pgblend._keep_entities", call):
            nodes[row["entity_type"], row["name_key"]] = row["node"]
        if nodes.keys() >= entities.keys():
            return nodes
    raise UserError("entities found no shard", "pgblend shards status; then run this again")


def _edges_of(passage: Any, nodes: Mapping[Key, int]) -> list[list[Any]]:
    """Return [source, target, type] of a passage."""
    chunk = passage["chunk_id"] * 4 + 1
    own = [nodes[one["type"], one["key"]] for one in passage["entities"]]
    edges = [(chunk, node, "mentions") for node in own]
    edges += [
        (nodes[tuple(source)], nodes[tuple(target)], kind)
        for source, target, kind in passage["relations"]
    ]
    return [list(edge) for edge in dict.fromkeys(edges)]
