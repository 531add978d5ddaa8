-- _link_entities: store the entities and relations that a model found in a collection's passages;
-- returns how many passages have any.
-- Entities are merged by normalised name and type. A passage is joined to those that it names
-- (_names_entity), whatever the model says; a relation joins two of them. An edge belongs to the
-- passage that says so. Passages with edges of this version are left alone; edges of another
-- version go first.
CREATE OR REPLACE FUNCTION pgblend._link_entities(collection_id bigint, version text)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.names import entity_edges

CLEAR = "SELECT pgblend._clear_model_edges($1, $2) AS nodes"
PASSAGES = plpy.prepare(
    "SELECT p.* FROM pgblend._named_entities($1, $2, 0, NULL) AS p", ["bigint", "text"])
ENTITIES = plpy.prepare(
    "INSERT INTO pgblend_data.entity (collection_id, bucket, entity_type, name_key, name,"
    " description) SELECT $1, pgblend._bucket($1, u.entity_type || ':' || u.name_key),"
    " u.entity_type, u.name_key, u.name, u.description FROM unnest($2, $3, $4, $5)"
    " AS u (entity_type, name_key, name, description)"
    " ON CONFLICT ON CONSTRAINT entity_collection_id_entity_type_name_key_key"
    " DO UPDATE SET description = coalesce(entity.description, excluded.description)"
    " RETURNING id, entity_type, name_key", ["bigint"] + ["text[]"] * 4)
EDGES = plpy.prepare(
    "SELECT pgblend._store_edges(ARRAY(SELECT ROW(u.source, false, u.target, u.edge_type, 'model',"
    " $1, $2, NULL, NULL, NULL, 1, jsonb_build_object('version', $6::text))::pgblend_data.edge"
    " FROM unnest($3, $4, $5) AS u (source, target, edge_type)))",
    ["bigint", "bigint", "bigint[]", "bigint[]", "text[]", "text"])

gone = db.run(CLEAR, ["bigint", "text"], collection_id, version)[0]["nodes"]
joined = 0
for row in plpy.cursor(PASSAGES, [collection_id, version]):
    entities, relations = entity_edges(json.loads(row["result"]))
    if not entities:
        continue
    stored = plpy.execute(ENTITIES, [collection_id, *(
        [entity[name] for entity in entities] for name in ("type", "key", "name", "description"))])
    nodes = {(one["entity_type"], one["name_key"]): one["id"] * 4 + 2 for one in stored}
    chunk = row["chunk_id"] * 4 + 1
    edges = [(chunk, node, "mentions") for node in nodes.values()]
    edges += [(nodes[source], nodes[target], kind) for source, target, kind in relations]
    columns = map(list, zip(*dict.fromkeys(edges)))
    plpy.execute(EDGES, [row["document_id"], row["chunk_id"], *columns, version])
    joined += 1
if gone:
    db.run("SELECT pgblend._drop_lone_entities($1, $2)", ["bigint[]", "bigint"], gone, collection_id)
return joined
$python$;
