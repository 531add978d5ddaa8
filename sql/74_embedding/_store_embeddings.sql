-- _store_embeddings: move vectors from the temporary table embedding_stage (chunk_id, embedding) to
-- a space; returns how many.
-- The client fills the stage by COPY; stored chunks leave the queue. Chunks that are no longer
-- queued, or whose claim the worker lost, are left out; without a worker claims do not count. A
-- vector of the wrong size and NULL are errors, and nothing is stored.
CREATE OR REPLACE FUNCTION pgblend._store_embeddings(space text, worker integer DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.embedding_space := pgblend._named_space(space);
    wrong integer;
    fresh bigint;
BEGIN
    -- Calls in text: none (a space's table).
    EXECUTE 'SELECT coalesce(vector_dims(embedding), 0) FROM pg_temp.embedding_stage
        WHERE coalesce(vector_dims(embedding), 0) <> $1 LIMIT 1' INTO wrong USING target.dimensions;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'a vector has % dimensions, embedding space "%" holds %',
            wrong, target.name, target.dimensions
            USING ERRCODE = '22023',
            HINT = format('Its model is "%s"; make another space for another model.', target.model);
    END IF;
    EXECUTE format(
        'WITH done AS (
            DELETE FROM pgblend_data.embedding_queue AS q
            USING pg_temp.embedding_stage AS s
            WHERE q.space = $1 AND q.chunk_id = s.chunk_id AND ($2 IS NULL OR q.worker = $2)
            RETURNING s.chunk_id, s.embedding
        )
        INSERT INTO pgblend_data.%1$I AS e (
            chunk_id, document_id, chunk_index, collection_id, bucket, embedding)
        SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket, d.embedding
        FROM done AS d
        INNER JOIN pgblend_data.chunk AS c ON c.id = d.chunk_id
        ON CONFLICT (chunk_id) DO UPDATE SET embedding = excluded.embedding', target.table_name)
    USING target.name, worker;
    GET DIAGNOSTICS fresh = ROW_COUNT;
    UPDATE pgblend_data.embedding_worker AS w
    SET stored = w.stored + fresh, seen_at = now()
    WHERE w.id = worker;
    RETURN fresh;
END;
$function$;
