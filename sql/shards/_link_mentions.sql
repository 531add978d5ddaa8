-- _link_mentions: link_mentions over all shards of a collection that the caller may write to.
CREATE OR REPLACE FUNCTION pgblend._link_mentions(collection_id bigint)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.links import link_mentions

return db.answer(link_mentions, collection_id)
$python$;
