-- _embedding_allowance: how many of the wanted texts may be sent to a space's model now.
-- All workers share a bucket: embedding_texts_per_minute flow in evenly, and it holds ten seconds'
-- worth. This locks the bucket until the transaction ends; whoever takes texts counts them off
-- (_take_allowance). Runs with its owner's rights, since a writer could fill or empty the bucket.
-- Without that setting all may be sent; NULL wanted means as many as there are.
CREATE OR REPLACE FUNCTION pgblend._embedding_allowance(space text, wanted integer)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
DECLARE
    per_second double precision :=
        (blend.get_setting('embedding_texts_per_minute') #>> '{}')::double precision / 60;
    holds double precision := greatest(per_second * 10, 1);
    available double precision;
BEGIN
    IF per_second IS NULL THEN
        RETURN wanted;
    END IF;
    INSERT INTO pgblend_data.embedding_allowance AS a (space, texts, counted_at)
    SELECT s.name, holds, clock_timestamp()
    FROM pgblend_data.embedding_space AS s
    WHERE s.name = space
    ON CONFLICT ON CONSTRAINT embedding_allowance_pkey DO UPDATE
    SET texts = least(
            holds, a.texts + per_second * greatest(
                0, extract(epoch FROM excluded.counted_at - a.counted_at))),
        counted_at = excluded.counted_at
    RETURNING a.texts INTO available;
    RETURN least(floor(greatest(available, 0)), wanted);
END;
$function$;

-- _take_allowance: count off texts that are sent to a space's model, at most what the bucket holds.
-- It does nothing where there is no bucket, or texts is NULL or negative. Runs with its owner's
-- rights: it only takes, and what flows in later is everybody's again.
CREATE OR REPLACE FUNCTION pgblend._take_allowance(space text, texts integer)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    UPDATE pgblend_data.embedding_allowance AS a
    SET texts = greatest(a.texts - _take_allowance.texts, 0)
    WHERE a.space = _take_allowance.space AND _take_allowance.texts > 0;
END;
$function$;

-- _next_embeddings: chunks that wait for a vector in a space, with the text to embed, claimed for a
-- worker.
-- A claim holds no row lock, so a chunk can be deleted while the model thinks. It ends with
-- _store_embeddings, _fail_embeddings, _release_embeddings, or the worker's session. Without a
-- worker the rows are locked for this transaction instead. Rows of other workers are skipped, as
-- are those to be tried later and dead letters; a worker's own are left over, and claimed again. No
-- rows mean that there is nothing to take now. A NULL batch_size takes all; an unknown space has
-- none. With a collection, the id of one, only its chunks are taken.
-- embedding_texts_per_minute bounds what all workers take together. Chunks to be embedded
-- with a summary that a model makes wait for it once. A model that failed for a document holds
-- nothing up, and without one (summary_model) none waits.
CREATE OR REPLACE FUNCTION pgblend._next_embeddings(
    space text,
    batch_size integer,
    worker integer DEFAULT NULL,
    collection bigint DEFAULT NULL
)
RETURNS TABLE (chunk_id bigint, input text)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 100
-- The index that serves depends on whether there is a collection.
SET plan_cache_mode = force_custom_plan
AS $function$
DECLARE
    chunk_ids bigint[];
    with_summary bigint[] := ARRAY(
        SELECT c.id
        FROM pgblend_data.collection AS c
        CROSS JOIN LATERAL pgblend._collection_settings(c.settings) AS s (settings)
        WHERE s.settings ->> 'embedding_prefix' = 'summary'
            AND (s.settings ->> 'summaries')::boolean
            AND blend.get_setting('summary_model') <> 'null');
BEGIN
    IF worker IS NOT NULL THEN
        batch_size := pgblend._embedding_allowance(space, batch_size);
    END IF;
    WITH batch AS MATERIALIZED (
        SELECT q.chunk_id
        FROM pgblend_data.embedding_queue AS q
        WHERE q.space = _next_embeddings.space
            AND q.dead_at IS NULL
            AND (_next_embeddings.collection IS NULL
                OR q.collection_id = _next_embeddings.collection)
            -- None waits longer than a day; later is what a clock that was wrong has left.
            AND (q.not_before IS NULL OR q.not_before <= clock_timestamp()
                OR q.not_before > clock_timestamp() + interval '1 day 12 hours')
            AND (q.collection_id <> ALL(with_summary) OR NOT EXISTS (
                SELECT FROM pgblend_data.document_summary AS m
                WHERE m.document_id = q.document_id AND m.summary IS NULL AND m.failures = 0))
            AND (q.worker IS NULL OR q.worker IS NOT DISTINCT FROM _next_embeddings.worker
                OR q.worker <> ALL((SELECT pgblend._live_workers())::integer[]))
        ORDER BY q.chunk_id
        LIMIT batch_size
        FOR UPDATE SKIP LOCKED
    ), claim AS (
        UPDATE pgblend_data.embedding_queue AS q
        SET worker = _next_embeddings.worker
        FROM batch AS b
        WHERE q.space = _next_embeddings.space AND q.chunk_id = b.chunk_id
            AND _next_embeddings.worker IS NOT NULL
    )
    SELECT array_agg(b.chunk_id) INTO chunk_ids FROM batch AS b;
    IF worker IS NOT NULL AND chunk_ids IS NOT NULL THEN
        PERFORM pgblend._take_allowance(space, cardinality(chunk_ids));
    END IF;
    RETURN QUERY SELECT i.* FROM pgblend._embedding_inputs(chunk_ids) AS i;
END;
$function$;
