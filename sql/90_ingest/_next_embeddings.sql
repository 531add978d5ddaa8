-- _next_embeddings: chunks that wait for a vector in a space, locked for this transaction, with
-- their input.
-- Rows that another worker holds are skipped; no rows mean that nothing is left to take. A NULL
-- batch_size takes all; an unknown space has none.
CREATE OR REPLACE FUNCTION pgblend._next_embeddings(space text, batch_size integer)
RETURNS TABLE (chunk_id bigint, input text)
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
ROWS 100
BEGIN ATOMIC
    WITH batch AS MATERIALIZED (
        SELECT q.chunk_id
        FROM pgblend_data.embedding_queue AS q
        WHERE q.space = _next_embeddings.space
        ORDER BY q.chunk_id
        LIMIT batch_size
        FOR UPDATE SKIP LOCKED
    )

    SELECT
        b.chunk_id,
        pgblend._embedding_input(
            pgblend._collection_settings(collection.settings) ->> 'embedding_prefix',
            d.title, c.heading, c.content
        ) AS input
    FROM batch AS b
    INNER JOIN pgblend_data.chunk AS c ON b.chunk_id = c.id
    INNER JOIN pgblend_data.document AS d ON c.document_id = d.id
    INNER JOIN pgblend_data.collection AS collection ON d.collection_id = collection.id
    ORDER BY b.chunk_id;
END;

COMMENT ON FUNCTION pgblend._next_embeddings(text, integer) IS
'Chunks that wait for a vector in a space, locked for this transaction, with the text to embed.';
