-- _document_count: how many documents a collection has that the caller may read; NULL: all have.
CREATE OR REPLACE FUNCTION pgblend._document_count(collection_id bigint)
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN (
    SELECT count(*) FROM pgblend_data.document AS d
    WHERE _document_count.collection_id IS NULL OR d.collection_id = _document_count.collection_id
);
