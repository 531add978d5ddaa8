-- _summary_lock: the advisory lock of whoever has a document summed up.
CREATE OR REPLACE FUNCTION pgblend._summary_lock(document_id bigint)
RETURNS bigint
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN hashtextextended(format('pgblend summary %s', document_id), 0);

COMMENT ON FUNCTION pgblend._summary_lock(bigint) IS
'The advisory lock of whoever has a document summed up.';
