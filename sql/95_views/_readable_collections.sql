-- _readable_collections: the collections that the caller may read, as {name: when it was made}.
-- Times are in seconds since 1970. {} where the caller may read none.
CREATE OR REPLACE FUNCTION pgblend._readable_collections()
RETURNS jsonb
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(jsonb_object_agg(c.name, extract(EPOCH FROM c.created_at)), '{}')
    FROM pgblend_data.collection AS c;
END;
