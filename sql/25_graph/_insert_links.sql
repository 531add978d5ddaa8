-- _insert_links: store links of documents of one collection, resolve them, and return how many
-- were stored.
-- links is an array of {target, kind, type, line, weight, metadata}; document_ids has the source of
-- each. One that leads nowhere by its form (mailto:, a mere fragment) is left out.
CREATE OR REPLACE FUNCTION pgblend._insert_links(
    collection_id bigint,
    document_ids bigint[],
    links jsonb,
    origin text
)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $python$
import json
from pgblend.plpy.graph.links import link_target

SOURCES = (
    "SELECT d.id, d.source_key, d.uri FROM pgblend_data.document AS d WHERE d.id = ANY($1)")
INSERT = (
    "INSERT INTO pgblend_data.link (document_id, collection_id, bucket, origin, edge_type, kind,"
    " target, name, path, line, weight, metadata)"
    " SELECT d.id, d.collection_id, d.bucket, $1, u.edge_type, u.kind, u.target, u.name, u.path,"
    " u.line, u.weight, u.metadata FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10)"
    " WITH ORDINALITY AS u (document_id, edge_type, kind, target, name, path, line, weight,"
    " metadata, place)"
    " INNER JOIN pgblend_data.document AS d ON d.id = u.document_id ORDER BY u.place")
TYPES = ["text", "bigint[]", "text[]", "text[]", "text[]", "text[]", "text[]", "integer[]",
         "real[]", "jsonb[]"]

def run(statement, types, *values):
    if statement not in SD:
        SD[statement] = plpy.prepare(statement, types)
    return SD[statement].execute(list(values))

sources = {row["id"]: row for row in run(SOURCES, ["bigint[]"], sorted(set(document_ids)))}
rows = []
for document_id, link in zip(document_ids, json.loads(links)):
    source = sources.get(document_id)
    meant = source and link_target(
        link.get("kind") or "key", link["target"], source["source_key"], source["uri"])
    if meant:
        rows.append((
            document_id, link.get("type") or "link", meant[0], link["target"], meant[1], meant[2],
            link.get("line"), 1 if link.get("weight") is None else link["weight"],
            json.dumps(link.get("metadata") or {})))
if rows:
    run(INSERT, TYPES, origin, *map(list, zip(*rows)))
    names = sorted({row[4] for row in rows})
    run("SELECT pgblend._resolve_links($1, $2)", ["bigint", "text[]"], collection_id, names)
return len(rows)
$python$;
