-- _resolve_links: find anew what the links of some names mean, and bring their edges up to date;
-- returns how many links lead elsewhere than before.
-- NULL names are all. What a link means depends on the documents there are, not on the order in
-- which they came. A document that two links mean has one edge of a type, of the larger weight.
CREATE OR REPLACE FUNCTION pgblend._resolve_links(collection_id bigint, names text[])
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $python$
from collections import defaultdict
from pgblend.plpy.graph.links import resolve_link

LINKS = (
    "SELECT l.id, l.document_id, l.kind, l.target, l.path, l.name, l.target_document_id,"
    " d.source_key FROM pgblend_data.link AS l"
    " INNER JOIN pgblend_data.document AS d ON d.id = l.document_id"
    " WHERE l.collection_id = $1")
CANDIDATES = (
    "SELECT n.name, n.document_id, d.source_key, n.kind, n.full_name"
    " FROM pgblend_data.document_name AS n"
    " INNER JOIN pgblend_data.document AS d ON d.id = n.document_id"
    " WHERE n.collection_id = $1 AND n.name = ANY($2)")
CHANGE = (
    "UPDATE pgblend_data.link AS l SET target_document_id = u.target"
    " FROM unnest($1, $2) AS u (id, target) WHERE l.id = u.id")

def run(statement, types, *values):
    if statement not in SD:
        SD[statement] = plpy.prepare(statement, types)
    return SD[statement].execute(list(values))

if names is None:
    links = run(LINKS, ["bigint"], collection_id)
else:
    links = run(LINKS + " AND l.name = ANY($2)", ["bigint", "text[]"], collection_id, names)
by_name = defaultdict(list)
wanted = sorted({link["name"] for link in links})
if wanted:
    for row in run(CANDIDATES, ["bigint", "text[]"], collection_id, wanted):
        by_name[row["name"]].append(
            (row["document_id"], row["source_key"], row["kind"], row["full_name"]))
changed = []
for link in links:
    meant = resolve_link(
        link["kind"], link["target"], link["path"], link["source_key"], by_name[link["name"]])
    if meant != link["target_document_id"]:
        changed.append((link, meant))
if changed:
    run(CHANGE, ["bigint[]", "bigint[]"],
        [link["id"] for link, _ in changed], [meant for _, meant in changed])
    ends = {meant for _, meant in changed} | {link["target_document_id"] for link, _ in changed}
    run("SELECT pgblend._link_edges($1, $2)", ["bigint[]", "bigint[]"],
        sorted({link["document_id"] for link, _ in changed}), sorted(ends - {None}))
return len(changed)
$python$;
