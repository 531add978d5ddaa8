-- queue_missing_vectors: queue the chunks that neither have a vector in a space nor wait for one;
-- returns how many.
-- A trigger queues new chunks; this mends what went past it, such as a restore without triggers.
-- Chunks that are being deleted are left out, and those of an attached table whose rows have
-- vectors. An unknown space is an error, and so is one
-- whose vectors callers bring (55000).
CREATE OR REPLACE FUNCTION blend.queue_missing_vectors(space text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.embedding_space := pgblend._named_space(space);
BEGIN
    IF NOT target.asks_model THEN
        RAISE EXCEPTION 'callers bring the vectors of embedding space "%": no model makes them',
            target.name
            USING ERRCODE = '55000',
            HINT = 'Store vectors (store_embeddings), or make a space for a model: pgblend space create.';
    END IF;
    RETURN pgblend._queue_missing(target, NULL);
END;
$function$;
