-- _known_documents: documents of a collection that have one of these ids, or one of these keys.
-- Those that the caller may not read are left out.
CREATE OR REPLACE FUNCTION pgblend._known_documents(
    collection_id bigint,
    document_ids bigint[],
    source_keys text[]
)
RETURNS TABLE (document_id bigint, source_key text)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 100
BEGIN ATOMIC
    SELECT
        d.id,
        d.source_key
    FROM pgblend_data.document AS d
    WHERE d.id = ANY(document_ids) AND d.collection_id = _known_documents.collection_id
    UNION
    SELECT
        k.id,
        k.source_key
    FROM pgblend_data.document AS k
    WHERE k.collection_id = _known_documents.collection_id AND k.source_key = ANY(source_keys);
END;
