"""Links and mentions of documents as rows: checked, stored, and led to what they mean."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pgblend.plpy.base.session import Database, ProgramError, Rows
from pgblend.plpy.graph.names import (
    Mention,
    NameFinder,
    common_names,
    documents_named,
    link_target,
    meant_by,
    mentions,
    most_documents,
)

KINDS = ("path", "wiki", "uri", "key", "name")
MOST_TYPE_BYTES = 200
MOST_WEIGHT = 1000000
MOST_SHOWN = 200

SOURCES = "SELECT d.id, d.source_key, d.uri FROM pgblend_data.document AS d WHERE d.id = ANY($1)"
INSERT = (
    "INSERT INTO pgblend_data.link (document_id, collection_id, bucket, origin, edge_type, kind,"
    " target, name, path, line, weight, metadata)"
    " SELECT d.id, d.collection_id, d.bucket, $1, coalesce(l.type, 'link'), u.kind, l.target,"
    " u.name, u.path, l.line, coalesce(l.weight, 1), coalesce(l.metadata, '{}')"
    " FROM unnest($2, $3, $4, $5, $6)"
    " WITH ORDINALITY AS u (document_id, link, kind, name, path, place)"
    " CROSS JOIN LATERAL jsonb_to_record(u.link)"
    " AS l (type text, target text, line integer, weight real, metadata jsonb)"
    " INNER JOIN pgblend_data.document AS d ON d.id = u.document_id ORDER BY u.place"
)
INSERT_TYPES = ["text", "bigint[]", "jsonb[]", "text[]", "text[]", "text[]"]
LINKS = (
    "SELECT l.id, l.document_id, l.kind, l.target, l.path, l.name, l.target_document_id,"
    " l.target_document_id IS NOT NULL AND t.id IS NULL AS is_far, d.source_key"
    " FROM pgblend_data.link AS l"
    " INNER JOIN pgblend_data.document AS d ON d.id = l.document_id"
    " LEFT JOIN pgblend_data.document AS t ON t.id = l.target_document_id"
    " WHERE l.collection_id = $1"
)
CANDIDATES = (
    "SELECT n.name, n.document_id, d.source_key, n.kind, n.full_name"
    " FROM pgblend_data.document_name AS n"
    " INNER JOIN pgblend_data.document AS d ON d.id = n.document_id"
    " WHERE n.collection_id = $1 AND n.name = ANY($2)"
)
CHANGE = (
    "UPDATE pgblend_data.link AS l SET target_document_id = u.target"
    " FROM unnest($1, $2) AS u (id, target) WHERE l.id = u.id"
)
LEAD = (
    "UPDATE pgblend_data.link AS l SET target_document_id = u.target"
    " FROM unnest($1, $2, $3) AS u (id, target, former)"
    " WHERE l.id = u.id AND l.target_document_id IS NOT DISTINCT FROM u.former"
    " RETURNING l.document_id, u.former, u.target"
)
EDGES = "SELECT pgblend._link_edges($1, $2)"


def insert_links(
    db: Database, collection_id: int, document_ids: Sequence[int], links: Sequence[str], origin: str
) -> int:
    """Store links, an array as JSON for each document, resolve them, and return how many."""
    given = [checked_links(each) for each in links]
    asked = sorted(set(document_ids))
    sources = {row["id"]: row for row in db.run(SOURCES, ["bigint[]"], asked)}
    found = []
    for document_id, each in zip(document_ids, given, strict=True):
        source = sources.get(document_id)
        if source is None:
            continue
        for link in each:
            kind = link.get("kind") or "key"
            meant = link_target(kind, link["target"], source["source_key"], source["uri"])
            if meant:
                found.append((document_id, json.dumps(link), *meant))
    if found:
        columns = list(map(list, zip(*found, strict=True)))
        db.run(INSERT, INSERT_TYPES, origin, *columns)
        resolve_links(db, collection_id, sorted({name for *_, name, _ in found}))
    return len(found)


def checked_links(links: str | None) -> list[dict[str, Any]]:
    """Return links as add_links takes them, from their JSON."""
    given = None if links is None else json.loads(links)
    if not isinstance(given, list):
        shown = "NULL" if links is None else links[:MOST_SHOWN]
        raise ProgramError(
            f'links is {shown}: expected an array of objects with "target"',
            'For example: [{"target": "other.md"}]',
        )
    for place, link in enumerate(given, 1):
        if problem := link_problem(link):
            shown = json.dumps(link, ensure_ascii=False)[:MOST_SHOWN]
            raise ProgramError(
                f"link {place} is {shown}: {problem}",
                'For example: {"target": "other.md", "type": "cites", "weight": 2}',
            )
    return given


def link_problem(link: Any) -> str | None:
    """Return what is wrong with a link; a null is as good as nothing."""
    if not isinstance(link, dict) or not (isinstance(link.get("target"), str) and link["target"]):
        return 'expected an object with a text "target"'
    given = {name: value for name, value in link.items() if value is not None}
    edge_type, weight = given.get("type", "link"), given.get("weight", 1)
    line = given.get("line", 1)
    if given.get("kind", "key") not in KINDS:
        return '"kind": expected one of path, wiki, uri, key, name'
    if not isinstance(edge_type, str) or not 1 <= len(edge_type.encode()) <= MOST_TYPE_BYTES:
        return '"type": expected a text of 1 to 200 bytes'
    if type(weight) not in (int, float) or not 0 <= weight <= MOST_WEIGHT:
        return '"weight": expected a number from 0 to 1000000'
    if type(line) is not int or not 1 <= line < 2**31:
        return '"line": expected a whole number from 1'
    if not isinstance(given.get("metadata", {}), dict):
        return '"metadata": expected an object'
    return None


def links_of(db: Database, collection_id: int, names: Sequence[str] | None) -> Rows:
    """Return the links of some names, None: of all."""
    if names is None:
        return db.run(LINKS, ["bigint"], collection_id)
    return db.run(f"{LINKS} AND l.name = ANY($2)", ["bigint", "text[]"], collection_id, names)


def candidates_of(db: Database, collection_id: int, names: Sequence[str]) -> Rows:
    """Return the documents that are called by some names."""
    return db.run(CANDIDATES, ["bigint", "text[]"], collection_id, names) if names else []


def resolve_links(db: Database, collection_id: int, names: Sequence[str] | None) -> int:
    """Lead the links of some names, None: of all, anew; return how many lead elsewhere now.

    One that leads to another database stays as it is: this one does not know its documents.
    """
    links = [link for link in links_of(db, collection_id, names) if not link["is_far"]]
    wanted = sorted({link["name"] for link in links})
    changed = meant_by(links, candidates_of(db, collection_id, wanted))
    if changed:
        targets = [meant for _, meant in changed]
        db.run(CHANGE, ["bigint[]", "bigint[]"], [link["id"] for link, _ in changed], targets)
        sources = {link["document_id"] for link, _ in changed}
        ends = {*targets, *(link["target_document_id"] for link, _ in changed)} - {None}
        db.run(EDGES, ["bigint[]", "bigint[]"], sorted(sources), sorted(ends))
    return len(changed)


def lead_links(db: Database, changes: Sequence[Sequence[int | None]]) -> int:
    """Lead links to documents, of other databases too; return how many.

    `changes` are (link, document, former one): a link that leads elsewhere by now stays.
    """
    columns = [[*column] for column in zip(*changes, strict=True)]
    rows = db.run(LEAD, ["bigint[]"] * 3, *columns) if changes else []
    if rows:
        ends = {row[end] for row in rows for end in ("former", "target")} - {None}
        sources = {row["document_id"] for row in rows}
        db.run(EDGES, ["bigint[]", "bigint[]"], sorted(sources), sorted(ends))
    return len(rows)


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
