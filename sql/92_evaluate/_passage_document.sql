-- _passage_document: the document of a passage, by its collection and key.
-- No row where there is none that the caller may read.
CREATE OR REPLACE FUNCTION pgblend._passage_document(chunk_id bigint)
RETURNS TABLE (source_key text, collection text)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 1
BEGIN ATOMIC
    SELECT
        d.source_key,
        o.name
    FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON c.document_id = d.id
    INNER JOIN pgblend_data.collection AS o ON d.collection_id = o.id
    WHERE c.id = _passage_document.chunk_id;
END;
