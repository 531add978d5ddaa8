-- _seal_lock: key of the advisory lock that whoever writes a collection's segments holds.
CREATE OR REPLACE FUNCTION pgblend._seal_lock(collection_id bigint)
RETURNS bigint
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN hashtextextended('pgblend seal', collection_id);

COMMENT ON FUNCTION pgblend._seal_lock(bigint) IS
'Key of the advisory lock that whoever writes a collection''s segments holds until its commit.';
