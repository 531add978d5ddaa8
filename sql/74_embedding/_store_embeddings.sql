-- _store_embeddings: move vectors from the temporary table embedding_stage (chunk_id, embedding) to
-- a space; returns how many.
-- The client fills the stage by COPY; stored chunks leave the queue. Chunks that are no longer
-- queued, or whose claim the worker lost, are left out; without a worker claims do not count. Where
-- callers bring the vectors, nothing is queued, and each replaces the one there was. A vector of
-- the wrong size and NULL are errors, and nothing is stored. A worker leaves out what is being
-- deleted: it would wait for the delete, which may wait for it.
CREATE OR REPLACE FUNCTION pgblend._store_embeddings(space text, worker integer DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.embedding_space := pgblend._named_space(space);
    is_brought boolean := target.brings_vectors AND worker IS NULL;
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
        'WITH found AS (
            SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket, s.embedding
            FROM pg_temp.embedding_stage AS s
            INNER JOIN pgblend_data.chunk AS c ON c.id = s.chunk_id
            %2$s
            ORDER BY c.id
            FOR KEY SHARE OF c %3$s
        ), done AS (
            DELETE FROM pgblend_data.embedding_queue AS q
            USING found AS f
            WHERE q.space = $1 AND (q.chunk_id, q.collection_id) = (f.id, f.collection_id)
            RETURNING f.*
        )
        INSERT INTO pgblend_data.%1$I AS e (
            chunk_id, document_id, chunk_index, collection_id, bucket, embedding)
        SELECT d.* FROM %4$I AS d
        ON CONFLICT (chunk_id) DO UPDATE SET embedding = excluded.embedding',
        target.table_name,
        CASE WHEN is_brought THEN ''
            ELSE 'INNER JOIN pgblend_data.embedding_queue AS q
                ON q.chunk_id = s.chunk_id AND q.space = $1 AND ($2 IS NULL OR q.worker = $2)' END,
        CASE WHEN is_brought THEN ''
            WHEN worker IS NULL THEN 'FOR UPDATE OF q'
            ELSE 'SKIP LOCKED FOR UPDATE OF q SKIP LOCKED' END,
        CASE WHEN is_brought THEN 'found' ELSE 'done' END)
    USING target.name, worker;
    GET DIAGNOSTICS fresh = ROW_COUNT;
    UPDATE pgblend_data.embedding_worker AS w
    SET stored = w.stored + fresh, seen_at = now()
    WHERE w.id = worker;
    RETURN fresh;
END;
$function$;
