-- _embedding_inputs: the texts that are embedded for these chunks, by chunk.
-- Those that the caller does not see are left out.
CREATE OR REPLACE FUNCTION pgblend._embedding_inputs(chunk_ids bigint[])
RETURNS TABLE (chunk_id bigint, input text)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 100
BEGIN ATOMIC
    SELECT
        c.id AS chunk_id,
        pgblend._embedding_input(
            pgblend._collection_settings(collection.settings) ->> 'embedding_prefix',
            d.title, c.heading, c.content, m.summary, c.context) AS input
    FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON c.document_id = d.id
    INNER JOIN pgblend_data.collection AS collection ON c.collection_id = collection.id
    LEFT JOIN pgblend_data.document_summary AS m ON d.id = m.document_id
    WHERE c.id = ANY(chunk_ids)
    ORDER BY c.id;
END;
