-- _resolve_links: find anew what all links of a collection mean, over all its shards, and update
-- their edges; returns how many changed.
CREATE OR REPLACE FUNCTION pgblend._resolve_links(collection_id bigint, names text[])
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.links import resolve_links

return db.answer(resolve_links, collection_id, names)
$python$;
