-- _passes_filter: whether a passage's metadata, over its document's, has every key and value of the
-- filter.
CREATE OR REPLACE FUNCTION pgblend._passes_filter(document_id bigint, metadata jsonb, filter jsonb)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT (d.metadata || _passes_filter.metadata) @> filter
    FROM pgblend_data.document AS d
    WHERE d.id = _passes_filter.document_id;
END;

COMMENT ON FUNCTION pgblend._passes_filter(bigint, jsonb, jsonb) IS
'Whether a passage''s metadata, over its document''s, has every key and value of the filter.';
