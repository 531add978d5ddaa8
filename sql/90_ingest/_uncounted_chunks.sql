-- _uncounted_chunks: which of some chunks have estimated token counts, with their text.
-- The database estimates where it splits a text itself: it has no tokenizer.
CREATE OR REPLACE FUNCTION pgblend._uncounted_chunks(chunk_ids bigint[])
RETURNS TABLE (chunk_id bigint, content text, own_start integer)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 100
BEGIN ATOMIC
    SELECT
        c.id,
        c.content,
        c.own_start
    FROM pgblend_data.chunk AS c
    WHERE c.id = ANY(_uncounted_chunks.chunk_ids) AND c.piece_tokens IS NULL
    ORDER BY c.id;
END;
