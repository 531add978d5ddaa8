-- queue_missing_vectors: queue the chunks that neither have a vector in a space nor wait for one;
-- returns how many.
-- A trigger queues new chunks; this mends what went past it, such as a restore without triggers.
-- Chunks that are being deleted are left out. An unknown space is an error, and so is one whose
-- vectors callers bring (55000).
CREATE OR REPLACE FUNCTION blend.queue_missing_vectors(space text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.embedding_space := pgblend._named_space(space);
    queued bigint;
BEGIN
    IF target.brings_vectors THEN
        RAISE EXCEPTION 'callers bring the vectors of embedding space "%": no model makes them',
            target.name
            USING ERRCODE = '55000',
            HINT = 'Store vectors of one''s own, or make a space for a model: pgblend space create.';
    END IF;
    -- A foreign key would wait for deletes, which may wait for this, and fail after them.
    -- Calls in text: none (a space's table).
    EXECUTE format(
        'INSERT INTO pgblend_data.embedding_queue (
            space, chunk_id, document_id, collection_id, bucket)
        SELECT $1, c.id, c.document_id, c.collection_id, c.bucket
        FROM pgblend_data.chunk AS c
        WHERE NOT EXISTS (SELECT FROM pgblend_data.%I AS e WHERE e.chunk_id = c.id)
        FOR KEY SHARE OF c SKIP LOCKED
        ON CONFLICT DO NOTHING', target.table_name)
    USING target.name;
    GET DIAGNOSTICS queued = ROW_COUNT;
    RETURN queued;
END;
$function$;
