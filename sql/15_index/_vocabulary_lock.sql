-- _vocabulary_lock: key of the advisory lock that whoever makes a collection's vocabulary anew
-- holds, and shared whoever adds words to it.
CREATE OR REPLACE FUNCTION pgblend._vocabulary_lock(collection_id bigint)
RETURNS bigint
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN hashtextextended('pgblend vocabulary', collection_id);

COMMENT ON FUNCTION pgblend._vocabulary_lock(bigint) IS
'Key of the advisory lock that whoever makes a collection''s vocabulary anew holds, and shared '
'whoever adds words to it.';
