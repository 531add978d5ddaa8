-- _store_token_counts: replace estimated token counts by counted ones; returns of how many chunks.
-- counts is an array of {chunk_id, token_count, piece_tokens}. Chunks that are gone, counted by
-- now, or locked by a delete are left out: nobody waits.
CREATE OR REPLACE FUNCTION pgblend._store_token_counts(counts jsonb)
RETURNS bigint
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH counted AS (
        UPDATE pgblend_data.chunk AS c
        SET token_count = n.token_count, piece_tokens = n.piece_tokens
        FROM (
            SELECT
                o.id,
                j.token_count,
                j.piece_tokens
            FROM jsonb_to_recordset(counts) AS j (
                chunk_id bigint, token_count integer, piece_tokens smallint[]
            )
            INNER JOIN pgblend_data.chunk AS o ON j.chunk_id = o.id
            WHERE o.piece_tokens IS NULL
            ORDER BY o.id
            FOR NO KEY UPDATE OF o SKIP LOCKED
        ) AS n
        WHERE c.id = n.id
        RETURNING c.id
    )

    SELECT count(*) FROM counted;
END;
