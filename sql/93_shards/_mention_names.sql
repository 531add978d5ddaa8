-- _mention_names: how many documents of a collection are on this shard, and their titles and
-- aliases, an array of [document, name].
CREATE OR REPLACE FUNCTION pgblend._mention_names(collection text)
RETURNS TABLE (documents bigint, names jsonb)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.graph.mention_store import count_of, names_of
from pgblend.plpy.shards.relay import writable_id

own_id = writable_id(db, collection)
names = [(row["id"], row["name"]) for row in names_of(db, own_id)]
return [(count_of(db, own_id), json.dumps(names))]
$python$;
