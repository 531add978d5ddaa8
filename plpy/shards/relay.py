"""What a coordinator asks shards for: searches, and routines and views that it has not itself.

It has stubs in their place, of the same signatures (sql/coordinator.py).
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from pgblend.plpy.base.session import Database
from pgblend.plpy.shards.coordinator import ShardStore
from pgblend.plpy.shards.merged_answers import COLLECTIONS_AT, VIEWS
from pgblend.plpy.shards.trips import LONG_MS, Changed, ShardLeftOut

if TYPE_CHECKING:
    from pgblend.plpy.search.query import Request
    from pgblend.plpy.search.rows import Answer as SearchAnswer

# Ids of collections, which each shard numbers for itself, by their names.

_NAMED = "SELECT (pgblend._named_collection($1)).id AS id"
_WRITABLE = "SELECT (pgblend._writable_collection($1)).id AS id"


def named_id(db: Database, collection: str) -> int:
    """Return the id of a collection; 42704 where there is none that the caller may read."""
    return int(db.run(_NAMED, ["text"], collection)[0]["id"])


def writable_id(db: Database, collection: str) -> int:
    """Return the id of a collection; 42704 or 42501 where the caller may not write to it."""
    return int(db.run(_WRITABLE, ["text"], collection)[0]["id"])


Answer = TypeVar("Answer")
Rows = list[Any]
Merge = Callable[[Sequence[Rows], Sequence[Any]], Any]  # of each shard's rows, the arguments

_ADDED = {
    *("documents", "chunks", "chunks_without_vector", "waiting", "dead", "embedded", "claimed"),
    *("retrying", "workers", "per_second", "sealed", "pending", "segments", "bytes", "given_up"),
    *("vectors", "missing", "table_bytes", "index_bytes", "summaries", "other"),
}
_LEAST, _MOST = {"oldest_at"}, {"remaining", "sealed_at", "failed_at"}
_WORST = ("error", "building", "uninitialized", "ready", "empty")


def relayed(db: Database, name: str, arguments: Sequence[Any]) -> str:
    """Return as JSON what the shards answer for a routine: its value, or a list of its rows."""
    given = arguments[COLLECTIONS_AT[name]] if name in COLLECTIONS_AT else None
    collection_ids = given if isinstance(given, list) else [] if given is None else [given]
    answers = asked_of_all(db, ("routine", name, arguments), collection_ids)
    merge: Merge = _MERGES.get(name, joined)
    return json.dumps(merge(answers, arguments))


def viewed(db: Database, name: str) -> str:
    """Return as JSON the rows of a view."""
    rows = [*chain(*asked_of_all(db, ("view", name)))]
    key = VIEWS[name]
    if name == "links":
        name_targets(db, rows)
    elif name == "entities":
        count_passages(db, rows)
    return json.dumps(rows if key is None else merged_by(key, rows))


def name_targets(db: Database, rows: Rows) -> None:
    """Give links to documents of other shards the keys of these."""
    far = [row for row in rows if row["target_document_id"] and row["target_key"] is None]
    nodes = sorted({4 * row["target_document_id"] for row in far})
    answers = asked_of_all(db, ("routine", "_node_facts", [nodes])) if far else []
    keys = {row["document_id"]: row["source_key"] for row in chain(*answers)}
    for row in far:
        row["target_key"] = keys.get(row["target_document_id"])


def count_passages(db: Database, rows: Rows) -> None:
    """Give entities the numbers of passages of all shards that speak of them."""
    own = {int(row["node"].partition(":")[2]) * 4 + 2: row for row in rows}
    answers = asked_of_all(db, ("routine", "_entity_passages", [sorted(own)])) if own else []
    for row in rows:
        row["passages"] = 0
    for count in chain(*answers):
        own[count["node"]]["passages"] += count["passages"]


def asked_of_all(
    db: Database, call: Sequence[Any], collection_ids: Sequence[int] = ()
) -> list[Any]:
    """Return the answers to a call of all shards that have the collections, if any are named."""
    return over_shards(db, lambda store: store.trips.everywhere([call])[0], collection_ids)


def over_shards(
    db: Database, ask: Callable[[ShardStore], Answer], collection_ids: Sequence[int] = ()
) -> Answer:
    """Return what is found by trips; a WARNING names shards that do not answer."""
    return settled(db, lambda store: asked_by_trips(store, ask, collection_ids))


def asked_by_trips(
    store: ShardStore, ask: Callable[[ShardStore], Answer], collection_ids: Sequence[int]
) -> Answer:
    """Return what a store answers that has found out which shards there are to ask."""
    missing = store.trips.begin(monotonic() + LONG_MS / 1000, collection_ids)
    answer = ask(store)
    if missing is not None:
        store.db.warn(f"answering without some shards: {missing.problem}", missing.hint)
    return answer


def search_shards(db: Database, request: "Request") -> "SearchAnswer":
    """Return one search, as the columns of _run_search."""
    from pgblend.plpy.search.call import search

    return settled(db, lambda store: search(db, request, store))


def settled(db: Database, ask: Callable[[ShardStore], Answer]) -> Answer:
    """Return what is asked of a store; begin again where what it went by has changed.

    A shard that has failed is left out then.
    """
    absent: dict[int, str] = {}
    store = ShardStore(db, absent)
    while True:
        try:
            return ask(store)
        except Changed:
            continue
        except ShardLeftOut:
            store = ShardStore(db, absent)


def merged_by(key: str, rows: Rows) -> Rows:
    """Return one row for each value of a column: what is counted is added up."""
    groups: dict[Any, Rows] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return [
        {name: _combined(name, [row[name] for row in of_key]) for name in of_key[0]}
        for of_key in groups.values()
    ]


def _combined(name: str, values: Rows) -> Any:
    """Return one value of a column; of what does not add up, the first shard's."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if name in _ADDED:
        return sum(known)
    if name in _LEAST or name in _MOST:
        return (min if name in _LEAST else max)(known)
    if name == "status":
        return min(known, key=_WORST.index)
    return ", ".join(known) if name == "last_error" else known[0]


def joined(answers: Sequence[Rows], _: Sequence[Any] = ()) -> Rows:
    """Return the rows of all shards."""
    return [*chain(*answers)]


def _added(answers: Sequence[Rows], _: Sequence[Any]) -> int:
    return sum(joined(answers))


def _merged_by(key: str) -> Merge:
    return lambda answers, _: merged_by(key, joined(answers))


def _any(answers: Sequence[Rows], _: Sequence[Any]) -> bool:
    return any(joined(answers))


def _distinct(answers: Sequence[Rows], _: Sequence[Any]) -> Rows:
    return [*{json.dumps(row): row for row in joined(answers)}.values()]


def _least(name: str) -> Merge:
    """Return what gives the chunks with the least values of a column, as many as are asked for."""

    def merge(answers: Sequence[Rows], arguments: Sequence[Any]) -> Rows:
        rows = sorted(joined(answers), key=lambda row: (row[name], row["chunk_id"]))
        return rows[: arguments[1]]

    return merge


def _first(answers: Sequence[Rows], _: Sequence[Any]) -> Any:
    """Return the value of the shard that has one."""
    return next((value for value in joined(answers) if value is not None), None)


def _heaviest(answers: Sequence[Rows], arguments: Sequence[Any]) -> Rows:
    """Return as many edges as are asked for, as _neighbours orders them."""
    order = "neighbour", "node", "is_reverse", "edge_type"
    rows = joined(answers)
    rows.sort(key=lambda row: (-row["weight"], *(row[name] for name in order)))
    return rows[: arguments[3]]


def _present(answers: Sequence[Rows], _: Sequence[Any]) -> Rows:
    """Return the passages of nodes; a node is gone where every shard says so."""
    rows = joined(answers)
    said = Counter(row["node"] for row in rows)
    found = {row["node"]: row for row in rows if said[row["node"]] == len(answers)}
    found |= {row["node"]: row for row in rows if row["chunk_id"]}
    return [found[node] for node in sorted(found)]


def _in_order(answers: Sequence[Rows], _: Sequence[Any]) -> Rows:
    """Return chunks by their documents."""
    rows = chain(*joined(answers))
    return sorted(rows, key=lambda row: (row["document_id"], row["chunk_index"]))


_MERGES: Mapping[str, Merge] = {
    "_chunks_around": _in_order,
    "_collection_sizes": _merged_by("collection_id"),
    "_document_count": _added,
    "_document_holds": _first,
    "_document_id": _first,
    "_document_passes": _any,
    "_filter_count": _added,
    "_has_edges": _any,
    "_metadata_counts": _merged_by("entry"),
    "_neighbours": _heaviest,
    "_node_passages": _present,
    "_sampled_chunks": _least("hash"),
    "_sampled_vectors": _least("digest"),
    "_summary_counts": _merged_by("collection"),
    "_used_languages": _distinct,
    "_waiting_vectors": _added,
    "count_vectors": _merged_by("name"),
    "lexical_status": _merged_by("collection_name"),
}
