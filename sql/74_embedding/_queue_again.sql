-- _queue_again: queue chunks for a new vector, in every space that a model fills; the one they
-- have stays until then.
-- A worker that has one of them at the model loses its claim, so what it brings is not stored.
CREATE OR REPLACE FUNCTION pgblend._queue_again(chunk_ids bigint[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.embedding_queue AS q (
        space, chunk_id, document_id, collection_id, bucket)
    SELECT s.name, c.id, c.document_id, c.collection_id, c.bucket
    FROM pgblend_data.chunk AS c
    CROSS JOIN pgblend_data.embedding_space AS s
    WHERE c.id = ANY(chunk_ids)
        AND c.chunk_index >= pgblend._first_embedded(s, c.collection_id)
    ON CONFLICT ON CONSTRAINT embedding_queue_pkey DO UPDATE
    SET worker = NULL, attempts = 0, not_before = NULL, dead_at = NULL, queued_at = now();
    IF FOUND THEN
        PERFORM pgblend._wake_workers();
    END IF;
END;
$function$;
