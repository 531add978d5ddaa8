-- _documents_read: about how many documents are read to find those that pass a filter: all, or 0
-- where an index finds them. on_document and alternatives are those of _filter_condition. Our
-- indexes are on some columns and on the values that metadata contain; an owner's own may be on
-- expressions.
CREATE OR REPLACE FUNCTION pgblend._documents_read(on_document text, alternatives jsonb[])
RETURNS real
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN CASE
    WHEN alternatives IS NOT NULL
        OR on_document
        ~ '\md\.(collection_id|id|modified_at|source_key|text_search_config|uri)\M'
        OR EXISTS (
            SELECT FROM pg_catalog.pg_index AS i
            WHERE i.indrelid = 'pgblend_data.document'::regclass AND i.indexprs IS NOT NULL)
        THEN 0
    ELSE (
        SELECT greatest(c.reltuples, 0) FROM pg_catalog.pg_class AS c
        WHERE c.oid = 'pgblend_data.document'::regclass)
END;
