-- _link_mentions: link_mentions of a collection that the caller may write to.
-- All texts are read anew, since a new title may be in any of them, but only edges that come or go
-- are written.
CREATE OR REPLACE FUNCTION pgblend._link_mentions(collection_id bigint)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.graph.names import NamedDocuments

NAMES = plpy.prepare(
    "SELECT d.id, d.title AS name FROM pgblend_data.document AS d"
    " WHERE d.collection_id = $1 AND d.title <> ''"
    " UNION SELECT n.document_id, n.full_name FROM pgblend_data.document_name AS n"
    " WHERE n.collection_id = $1 AND n.kind = 'alias'", ["bigint"])
TEXTS = plpy.prepare(
    "SELECT c.id, c.document_id, substr(c.content, c.own_start + 1) AS text"
    " FROM pgblend_data.chunk AS c WHERE c.collection_id = $1", ["bigint"])
STORED = plpy.prepare(
    "SELECT e.document_id, e.chunk_id, e.neighbour / 4 AS target, e.metadata ->> 'name' AS name"
    " FROM pgblend_data.edge AS e"
    " WHERE e.collection_id = $1 AND e.origin = 'mention' AND NOT e.is_reverse", ["bigint"])
CLEAR = (  # both rows of an edge
    "DELETE FROM pgblend_data.edge AS e USING unnest($1, $2) AS m (chunk_id, target)"
    " WHERE e.chunk_id = m.chunk_id AND e.origin = 'mention'"
    " AND CASE WHEN e.is_reverse THEN e.node ELSE e.neighbour END = m.target * 4")
STORE = (
    "SELECT pgblend._store_edges(ARRAY(SELECT ROW(m.document_id * 4, false, m.target * 4,"
    " 'mentions', 'mention', m.document_id, m.chunk_id, NULL, NULL, NULL, 1,"
    " jsonb_build_object('name', m.name))::pgblend_data.edge"
    " FROM unnest($1, $2, $3, $4) AS m (document_id, chunk_id, target, name)))")
COUNT = "SELECT count(*) AS n FROM pgblend_data.document AS d WHERE d.collection_id = $1"
BATCH = 10000

known = NamedDocuments(
    (row["id"], row["name"]) for row in plpy.cursor(NAMES, [collection_id]))
found = [
    (row["document_id"], row["id"], name)
    for row in plpy.cursor(TEXTS, [collection_id]) for name in sorted(known.names_in(row["text"]))]
count = db.run(COUNT, ["bigint"], collection_id)[0]["n"]
wanted = {}
for document_id, chunk_id, target, name in known.mentions(found, max(10, count // 100)):
    wanted.setdefault((document_id, chunk_id, target), name)
stored = {
    (row["document_id"], row["chunk_id"], row["target"]): row["name"]
    for row in plpy.cursor(STORED, [collection_id])}
gone = [mention for mention, name in stored.items() if wanted.get(mention) != name]
new = [(*mention, name) for mention, name in wanted.items() if stored.get(mention) != name]
for start in range(0, len(gone), BATCH):
    _, *ends = map(list, zip(*gone[start:start + BATCH]))
    db.run(CLEAR, ["bigint[]"] * 2, *ends)
for start in range(0, len(new), BATCH):
    db.run(STORE, ["bigint[]"] * 3 + ["text[]"], *map(list, zip(*new[start:start + BATCH])))
return len(wanted)
$python$;

-- link_mentions: make edges of type mentions to documents that a text of their collection names, by
-- title or alias; returns how many.
-- Names are compared without case and punctuation, "(film)" at their end may be missing, and the
-- longest counts. A name counts for nothing where it has fewer than three letters, is of more than
-- five documents, or is mentioned by more than max(10, 1 %) of them. All texts are read anew, since
-- a new title may be in any of them. Only edges that come or go are written. They belong to
-- passages, and go when a text is replaced.
CREATE OR REPLACE FUNCTION blend.link_mentions(collection text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN pgblend._link_mentions((pgblend._writable_collection(collection)).id);
END;
$function$;
