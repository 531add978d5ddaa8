-- _chunk_enqueue: trigger that queues new chunks for a vector in every embedding space that a model
-- fills.
CREATE OR REPLACE FUNCTION pgblend._chunk_enqueue()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.embedding_queue (space, chunk_id, document_id, collection_id, bucket)
    SELECT s.name, c.id, c.document_id, c.collection_id, c.bucket
    FROM new_chunk AS c
    CROSS JOIN pgblend_data.embedding_space AS s
    WHERE NOT s.brings_vectors;
    IF FOUND THEN
        PERFORM pgblend._wake_workers();
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_30_enqueue AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_enqueue();
