-- _links_called: the links of a collection on this shard that have some names.
CREATE OR REPLACE FUNCTION pgblend._links_called(collection text, names jsonb)
RETURNS TABLE (
    id bigint,
    kind text,
    target text,
    path text,
    name text,
    target_document_id bigint,
    source_key text
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.store import links_of
from pgblend.plpy.shards.relay import named_id

return links_of(db, named_id(db, collection), json.loads(names))
$python$;
