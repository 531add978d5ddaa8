"""Links and edges that lead from one shard to another.

A shard leads its links to its own documents, and notes names and nodes that change (graph_change).
Here they are looked at over all shards. Every call commits on its shard, and may come again.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from pgblend.plpy.base.session import Database, ProgramError, Row
from pgblend.plpy.graph.names import (
    common_names,
    documents_named,
    meant_by,
    mentions,
    most_documents,
)

# Calls of routines on shards, each of which commits for itself.

_COLLECTION = "SELECT c.name FROM pgblend_data.collection AS c WHERE c.id = $1"
_CALL = "SELECT a.answer::text AS answer FROM pgblend._on_shards($1, $2) AS a (answer)"


def on_shards(db: Database, routine: str, arguments: Mapping[str, Any]) -> list[Any]:
    """Call a routine on shards; return the rows of all. An error where one does not answer."""
    rows = db.run(_CALL, ["text", "jsonb"], routine, json.dumps(arguments))
    return [json.loads(row["answer"]) for row in rows]


def collection_name(db: Database, collection_id: int) -> str | None:
    """Return the name of a collection, as shards know it; None where it is gone."""
    known = db.run(_COLLECTION, ["bigint"], collection_id)
    return known[0]["name"] if known else None


# Entities that passages of all shards share.
#
# An entity is on the shard of its own bucket, its edges are with the passages that say so. Every
# call commits on its shard, and may come again.

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
    raise ProgramError("entities went while their edges came, again and again", "run this again")


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
    raise ProgramError(
        "entities found no shard", "Look at pgblend shards status, then run this again."
    )


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


# Mentions between documents of all shards: names are looked for on each, and counted over all.


def link_mentions(db: Database, collection_id: int) -> int:
    """Join documents that name each other; return how many mentions there are.

    Every shard commits for itself; once more stores what is missing.
    """
    name = collection_name(db, collection_id)
    if name is None:
        return 0
    asked = {"collection": name}
    rows = on_shards(db, "pgblend._mention_names", asked)
    documents = documents_named(chain.from_iterable(row["names"] for row in rows))
    most = most_documents(sum(row["documents"] for row in rows))
    looked = {"names": sorted(documents), "most": most}
    rows = on_shards(db, "pgblend._names_found", asked | looked)
    found = [(row["document_id"], row["chunk_id"], row["name"]) for row in rows if row["chunk_id"]]
    common = common_names(found, most) | {row["name"] for row in rows if not row["chunk_id"]}
    given = {"mentions": mentions(documents, found, common)}
    return sum(on_shards(db, "pgblend._keep_mentions", asked | given))


# Edges of foreign keys between attached tables, whose rows are documents of several shards.
#
# A shard keeps what its rows reference, and notes keys of rows that came or reference something
# else. Which collection a foreign key leads to, the coordinator alone knows, and it makes the
# edges.

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


MOST_CHANGES = 5000
MOST_NAMES = 2000
# One job at a time: what is read before another one's writes must not be written after them. Only
# admins may have it, and no writer waits for it.
_LOCK = "LOCK TABLE pgblend_data.shard_outbox IN SHARE UPDATE EXCLUSIVE MODE"


def resolve_links(db: Database, collection_id: int, names: Sequence[str] | None) -> int:
    """Lead the links of some names, None: of all, anew; return how many lead elsewhere now."""
    return _resolve(db, collection_id, names)[0]


def settle_graph(db: Database) -> int:
    """Bring edges up to date with some changes of shards; return how many those were."""
    db.run(_LOCK, [])
    changes = on_shards(db, "pgblend._graph_changes", {"most": MOST_CHANGES})
    names: defaultdict[int, set[str]] = defaultdict(set)
    for change in changes:
        if change["name"] is not None:
            names[change["collection_id"]].add(change["name"])
    later = {one for one in names if not _resolve(db, one, sorted(names[one]))[1]}
    join_rows(db, changes)
    nodes = sorted({one["node"] for one in changes if one["node"] is not None})
    drop_lone_entities(db, nodes)
    _clear(db, nodes)
    done = [
        one["id"] for one in changes if one["name"] is None or one["collection_id"] not in later
    ]
    if done:
        on_shards(db, "pgblend._end_graph_changes", {"ids": done})
    return len(done)


def _resolve(db: Database, collection_id: int, names: Sequence[str] | None) -> tuple[int, bool]:
    """Return how many links lead elsewhere now, and whether those are all that should."""
    collection = collection_name(db, collection_id)
    if collection is None:
        return 0, True
    if names is None:
        names = sorted({*on_shards(db, "pgblend._link_names", {"collection": collection})})
    count, is_whole = 0, True
    for start in range(0, len(names), MOST_NAMES):
        asked = {"collection": collection, "names": names[start : start + MOST_NAMES]}
        links = on_shards(db, "pgblend._links_called", asked)
        if not links:
            continue
        asked["names"] = sorted({link["name"] for link in links})
        candidates = on_shards(db, "pgblend._documents_named", asked)
        changes = [
            (link["id"], meant, link["target_document_id"])
            for link, meant in meant_by(links, candidates)
        ]
        if changes:
            given = {"collection": collection, "changes": changes}
            done = sum(on_shards(db, "pgblend._lead_links", given))
            count += done
            is_whole &= done == len(changes)
    return count, is_whole


def _clear(db: Database, nodes: Sequence[int]) -> None:
    """Have all shards forget edges to those of the nodes that are gone."""
    if nodes:
        there = on_shards(db, "pgblend._nodes_there", {"nodes": nodes})
        gone = sorted({*nodes} - {*there})
        if gone:
            on_shards(db, "pgblend._clear_nodes", {"nodes": gone})
