-- queue_missing_vectors: queue the chunks that neither have a vector in a space nor wait for one.
-- Returns how many. The trigger on chunks queues all of them; this mends what went past it, such
-- as a restore without triggers. An unknown space is an error.
CREATE OR REPLACE FUNCTION blend.queue_missing_vectors(space text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    target name;
    queued bigint;
BEGIN
    SELECT s.table_name INTO target FROM pgblend_data.embedding_space AS s
    WHERE s.name = queue_missing_vectors.space;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no embedding space %',
            coalesce(quote_ident(left(queue_missing_vectors.space, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.embedding_spaces';
    END IF;
    EXECUTE format(
        'INSERT INTO pgblend_data.embedding_queue (
            space, chunk_id, document_id, collection_id, bucket)
        SELECT $1, c.id, c.document_id, c.collection_id, c.bucket
        FROM pgblend_data.chunk AS c
        WHERE NOT EXISTS (SELECT FROM pgblend_data.%I AS e WHERE e.chunk_id = c.id)
        ON CONFLICT DO NOTHING', target)
    USING queue_missing_vectors.space;
    GET DIAGNOSTICS queued = ROW_COUNT;
    RETURN queued;
END;
$function$;
