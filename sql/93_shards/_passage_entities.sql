-- _passage_entities: what a model found in some passages of this shard that have no edges of it.
-- after has the last passage that was looked at, by the number of the shard. entities are {type,
-- key, name, description}, relations [source, target, type], of which both ends are [type, key].
CREATE OR REPLACE FUNCTION pgblend._passage_entities(
    collection text,
    version text,
    after jsonb,
    most integer
)
RETURNS TABLE (shard integer, chunk_id bigint, entities jsonb, relations jsonb)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.names import entity_edges

PASSAGES = (
    "SELECT s.number, p.chunk_id, p.result FROM pgblend_data.shard_self AS s CROSS JOIN LATERAL"
    " pgblend._named_entities((pgblend._writable_collection($1)).id, $2,"
    " coalesce(($3::jsonb ->> s.number::text)::bigint, 0), $4) AS p")
rows = db.run(PASSAGES, ["text", "text", "text", "integer"], collection, version, after, most)
return [
    (row["number"], row["chunk_id"], *map(json.dumps, entity_edges(json.loads(row["result"]))))
    for row in rows
]
$python$;
