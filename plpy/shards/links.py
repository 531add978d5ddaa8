"""Links and edges that lead from one shard to another.

A shard leads its links to its own documents, and notes names and nodes that change (graph_change).
Here they are looked at over all shards. Every call commits on its shard, and may come again.
"""

from collections import defaultdict
from collections.abc import Sequence

from pgblend.plpy.graph.links import meant_by
from pgblend.plpy.session import Database
from pgblend.plpy.shards.calls import collection_name, on_shards
from pgblend.plpy.shards.entities import drop_lone_entities
from pgblend.plpy.shards.keys import join_rows

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
