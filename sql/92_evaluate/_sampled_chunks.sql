-- _sampled_chunks: chunks of a collection, at most so many: those whose ids have the least hashes,
-- which have nothing to do with what they say.
CREATE OR REPLACE FUNCTION pgblend._sampled_chunks(collection_id bigint, most integer)
RETURNS TABLE (chunk_id bigint, hash integer)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 100
BEGIN ATOMIC
    SELECT
        c.id,
        hashint8(c.id) AS hash
    FROM pgblend_data.chunk AS c
    WHERE c.collection_id = _sampled_chunks.collection_id
    ORDER BY hash, c.id
    LIMIT most;
END;
