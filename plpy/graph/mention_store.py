"""Mentions as edges: texts that have the title or an alias of another document."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pgblend.plpy.base.session import Database, Rows
from pgblend.plpy.graph.mentions import (
    Mention,
    NameFinder,
    common_names,
    documents_named,
    mentions,
    most_documents,
)

BATCH = 10000

NAMES = (
    "SELECT d.id, d.title AS name FROM pgblend_data.document AS d"
    " WHERE d.collection_id = $1 AND d.title <> ''"
    " UNION SELECT n.document_id, n.full_name FROM pgblend_data.document_name AS n"
    " WHERE n.collection_id = $1 AND n.kind = 'alias'"
)
COUNT = "SELECT count(*) AS n FROM pgblend_data.document AS d WHERE d.collection_id = $1"
TEXTS = (
    "SELECT c.id, c.document_id, substr(c.content, c.own_start + 1) AS text"
    " FROM pgblend_data.chunk AS c WHERE c.collection_id = $1"
)
STORED = (
    "SELECT e.document_id, e.chunk_id, e.neighbour / 4 AS target, e.metadata ->> 'name' AS name"
    " FROM pgblend_data.edge AS e"
    " WHERE e.collection_id = $1 AND e.origin = 'mention' AND NOT e.is_reverse"
)
CLEAR = (  # both rows of an edge
    "DELETE FROM pgblend_data.edge AS e USING unnest($1, $2) AS m (chunk_id, target)"
    " WHERE e.chunk_id = m.chunk_id AND e.origin = 'mention'"
    " AND CASE WHEN e.is_reverse THEN e.node ELSE e.neighbour END = m.target * 4"
)
STORE = (
    "SELECT pgblend._store_edges(ARRAY(SELECT ROW(c.document_id * 4, false, m.target * 4,"
    " 'mentions', 'mention', c.document_id, c.id, c.collection_id, c.collection_id, c.bucket, 1,"
    " jsonb_build_object('name', m.name))::pgblend_data.edge"
    " FROM unnest($1, $2, $3) AS m (chunk_id, target, name)"
    " INNER JOIN pgblend_data.chunk AS c ON c.id = m.chunk_id))"
)


def link_mentions(db: Database, collection_id: int, texts: Iterable[Mapping[str, Any]]) -> int:
    """Join documents of one node that name each other; return how many mentions there are."""
    documents = documents_named((row["id"], row["name"]) for row in names_of(db, collection_id))
    found = NameFinder(documents).found_in(texts)
    common = common_names(found, most_documents(count_of(db, collection_id)))
    wanted = mentions(documents, found, common)
    keep_mentions(db, collection_id, wanted)
    return len(wanted)


def names_of(db: Database, collection_id: int) -> Rows:
    """Return rows of id and name: titles and aliases of a collection's documents."""
    return db.run(NAMES, ["bigint"], collection_id)


def count_of(db: Database, collection_id: int) -> int:
    """Return how many documents of a collection are here."""
    return int(db.run(COUNT, ["bigint"], collection_id)[0]["n"])


def keep_mentions(db: Database, collection_id: int, wanted: Sequence[Mention]) -> list[int]:
    """Make a collection's edges those that are wanted; return the documents newly meant.

    Only edges that come or go are written.
    """
    named = {(one[0], one[1], one[2]): one[3] for one in wanted}
    stored = {
        (row["document_id"], row["chunk_id"], row["target"]): row["name"]
        for row in db.run(STORED, ["bigint"], collection_id)
    }
    gone = [ends[1:] for ends, name in stored.items() if named.get(ends) != name]
    new = [(*ends[1:], name) for ends, name in named.items() if stored.get(ends) != name]
    for start in range(0, len(gone), BATCH):
        db.run(CLEAR, ["bigint[]"] * 2, *map(list, zip(*gone[start : start + BATCH], strict=True)))
    for start in range(0, len(new), BATCH):
        given = map(list, zip(*new[start : start + BATCH], strict=True))
        db.run(STORE, ["bigint[]"] * 2 + ["text[]"], *given)
    return sorted({one[1] for one in new})
