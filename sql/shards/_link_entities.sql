-- _link_entities: store the entities and relations that a model found in passages of all shards,
-- as one node does; returns how many passages have any.
-- An entity is on the shard of its own bucket, its edges with the passages that say so. Again where
-- it was killed: passages with edges are left alone.
CREATE OR REPLACE FUNCTION pgblend._link_entities(collection_id bigint, version text)
RETURNS bigint
LANGUAGE plpython3u
VOLATILE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.shards.links import link_entities

return db.answer(link_entities, collection_id, version)
$python$;
