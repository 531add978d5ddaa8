-- _chunk_enqueue: trigger that queues new chunks for a vector in every embedding space that a model
-- fills.
CREATE OR REPLACE FUNCTION pgblend._chunk_enqueue()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.embedding_queue (space, chunk_id, document_id, collection_id, bucket)
    SELECT w.space, c.id, c.document_id, c.collection_id, c.bucket
    FROM (
        SELECT s.name AS space, n.collection_id,
            pgblend._first_embedded(s, n.collection_id) AS first_index
        FROM (SELECT DISTINCT o.collection_id FROM new_chunk AS o) AS n
        CROSS JOIN pgblend_data.embedding_space AS s
        OFFSET 0
    ) AS w
    INNER JOIN new_chunk AS c
        ON c.collection_id = w.collection_id AND c.chunk_index >= w.first_index;
    IF FOUND THEN
        PERFORM pgblend._wake_workers();
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_30_enqueue AFTER INSERT ON pgblend_data.chunk
REFERENCING NEW TABLE AS new_chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_enqueue();
