-- _link_mentions: link_mentions of a collection that the caller may write to.
-- All texts are read anew, since a new title may be in any of them, but only edges that come or go
-- are written.
CREATE OR REPLACE FUNCTION pgblend._link_mentions(collection_id bigint)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $python$
from pgblend.plpy.graph.mentions import named_documents

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
CLEAR = plpy.prepare("SELECT pgblend._drop_mentions($1, $2)", ["bigint[]", "bigint[]"])
STORE = plpy.prepare(
    "SELECT pgblend._store_mentions($1, $2, $3, $4, $5)",
    ["bigint", "bigint[]", "bigint[]", "bigint[]", "text[]"])
BATCH = 10000

known = named_documents(
    (row["id"], row["name"]) for row in plpy.cursor(NAMES, [collection_id]))
found = [
    (row["document_id"], row["id"], name)
    for row in plpy.cursor(TEXTS, [collection_id]) for name in sorted(known.names_in(row["text"]))]
count = plpy.execute(
    plpy.prepare("SELECT count(*) AS n FROM pgblend_data.document AS d WHERE d.collection_id = $1",
                 ["bigint"]), [collection_id])[0]["n"]
wanted = {}
for document_id, chunk_id, target, name in known.mentions(found, max(10, count // 100)):
    wanted.setdefault((document_id, chunk_id, target), name)
stored = {
    (row["document_id"], row["chunk_id"], row["target"]): row["name"]
    for row in plpy.cursor(STORED, [collection_id])}
gone = [mention for mention, name in stored.items() if wanted.get(mention) != name]
new = [(*mention, name) for mention, name in wanted.items() if stored.get(mention) != name]
for start in range(0, len(gone), BATCH):
    _, chunk_ids, targets = zip(*gone[start:start + BATCH])
    plpy.execute(CLEAR, [list(chunk_ids), list(targets)])
for start in range(0, len(new), BATCH):
    columns = zip(*new[start:start + BATCH])
    plpy.execute(STORE, [collection_id, *map(list, columns)])
return len(wanted)
$python$;
