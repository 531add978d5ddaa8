-- _bucket: the part (0 to 4095) of the store that a document belongs to, from its collection and
-- key alone.
CREATE OR REPLACE FUNCTION pgblend._bucket(collection_id bigint, source_key text)
RETURNS smallint
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN ('x' || left(md5(collection_id::text || ':' || source_key), 3))::bit(12)::integer::smallint;
