-- _document_id: the document that a collection has under a key; NULL collection: the first of any.
-- NULL where there is none that the caller may read.
CREATE OR REPLACE FUNCTION pgblend._document_id(collection_id bigint, source_key text)
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN (
    SELECT min(d.id) FROM pgblend_data.document AS d
    WHERE d.source_key = _document_id.source_key
        AND (_document_id.collection_id IS NULL OR d.collection_id = _document_id.collection_id)
);
