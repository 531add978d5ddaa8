-- _lead_links: lead links of this shard to documents, of other shards too, and make their edges;
-- returns how many.
-- changes is an array of [link, document, former one]; a link that is of another shard, or leads
-- elsewhere by now, stays as it is.
CREATE OR REPLACE FUNCTION pgblend._lead_links(collection text, changes jsonb)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.store import lead_links

db.run("SELECT pgblend._writable_collection($1)", ["text"], collection)
return db.answer(lead_links, json.loads(changes))
$python$;
