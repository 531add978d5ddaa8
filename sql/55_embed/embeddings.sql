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

-- store_embeddings: store vectors that were made elsewhere in an embedding space, one for each
-- chunk; returns how many.
-- Each replaces the one that there was, and its chunk waits for none any more. All are stored or
-- none: NULLs, a chunk that comes twice or is not there, a vector of other dimensions, of zeros, or
-- of numbers that the storage cannot hold are errors that name the row. (A vector holds neither NaN
-- nor Infinity.) An array of halfvec is to be cast: v::vector[]. The space may be one that a model
-- fills: then the vectors must be of that model. Empty arrays store nothing; an unknown space is an
-- error.
-- For who may write to the collections of all chunks.
CREATE OR REPLACE FUNCTION blend.store_embeddings(
    space text,
    chunk_ids bigint[],
    vectors vector[]
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target record := pgblend._named_space(space);
    stored bigint;
BEGIN
    IF cardinality(chunk_ids) IS DISTINCT FROM cardinality(vectors) OR chunk_ids IS NULL THEN
        RAISE EXCEPTION 'there are % chunk_ids and % vectors: expected one vector for each chunk',
            coalesce(cardinality(chunk_ids)::text, 'NULL'),
            coalesce(cardinality(vectors)::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'SELECT store_embeddings(…, array_agg(id), array_agg(v))';
    END IF;
    PERFORM pgblend._check_embeddings(target, chunk_ids, vectors);
    -- Calls in text: none (a space's table).
    EXECUTE format(
        'WITH found AS (
            SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket, v.embedding
            FROM unnest($2, $3) AS v (chunk_id, embedding)
            INNER JOIN pgblend_data.chunk AS c ON c.id = v.chunk_id
            ORDER BY c.id
            FOR KEY SHARE OF c
        ), waiting AS (
            DELETE FROM pgblend_data.embedding_queue AS q
            USING found AS f
            WHERE q.space = $1 AND (q.chunk_id, q.collection_id) = (f.id, f.collection_id)
        )
        INSERT INTO pgblend_data.%I AS e (
            chunk_id, document_id, chunk_index, collection_id, bucket, embedding)
        SELECT f.* FROM found AS f
        ON CONFLICT (chunk_id) DO UPDATE SET embedding = excluded.embedding', target.table_name)
    USING target.name, chunk_ids, vectors;
    GET DIAGNOSTICS stored = ROW_COUNT;
    IF stored < cardinality(chunk_ids) THEN
        RAISE EXCEPTION '% of the chunks were deleted meanwhile', cardinality(chunk_ids) - stored
            USING ERRCODE = '40001', HINT = 'Nothing is stored: look the chunks up again.';
    END IF;
    IF target.bridged_from IS NOT NULL THEN
        PERFORM pgblend._end_bridge(target.name);
    END IF;
    RETURN stored;
END;
$function$;

-- _check_embeddings: raise for the first row that cannot be stored as a vector of a space.
-- A row is a chunk's id and its vector at one place, counted from 1.
CREATE OR REPLACE FUNCTION pgblend._check_embeddings(
    target pgblend_data.embedding_space,
    chunk_ids bigint[],
    vectors vector[]
)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    wrong record;
BEGIN
    SELECT f.place, f.chunk_id, f.problem, f.code, count(*) OVER () AS rows_wrong INTO wrong
    FROM (
        SELECT g.place, g.chunk_id, CASE
                WHEN g.chunk_id IS NULL THEN 'the chunk id is NULL'
                WHEN g.nth > 1 THEN 'the chunk id came before'
                WHEN c.id IS NULL THEN 'there is no such chunk'
                WHEN NOT w.may_write THEN 'you may not write to the collection of the chunk'
                ELSE 'the vector ' || v.problem END AS problem,
            CASE WHEN NOT w.may_write THEN '42501' ELSE '22023' END AS code
        FROM (
            SELECT n.*, row_number() OVER (PARTITION BY n.chunk_id ORDER BY n.place) AS nth
            FROM unnest(chunk_ids, vectors) WITH ORDINALITY AS n (chunk_id, embedding, place)
        ) AS g
        LEFT JOIN pgblend_data.chunk AS c ON c.id = g.chunk_id
        LEFT JOIN LATERAL (
            SELECT o.id, pgblend._may_write(o.id) AS may_write
            FROM pgblend_data.collection AS o
        ) AS w ON w.id = c.collection_id
        CROSS JOIN LATERAL pgblend._vector_problem(
            g.embedding, target.dimensions, target.storage) AS v (problem)
    ) AS f
    WHERE f.problem IS NOT NULL
    ORDER BY f.place
    LIMIT 1;
    IF wrong.place IS NOT NULL THEN
        RAISE EXCEPTION 'row % (chunk %): %', wrong.place, coalesce(wrong.chunk_id::text, 'NULL'),
            concat(wrong.problem, CASE WHEN wrong.rows_wrong > 1
                THEN format(' (wrong rows: %s)', wrong.rows_wrong) END)
            USING ERRCODE = wrong.code,
            HINT = format(
                'Nothing is stored. Embedding space "%s" holds vectors of "%s" with %s dimensions.',
                target.name, target.model, target.dimensions);
    END IF;
END;
$function$;

-- _embedding_inputs: the texts that are embedded for these chunks, by chunk.
-- Those that the caller does not see are left out.
CREATE OR REPLACE FUNCTION pgblend._embedding_inputs(chunk_ids bigint[])
RETURNS TABLE (chunk_id bigint, input text)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 100
BEGIN ATOMIC
    SELECT
        c.id AS chunk_id,
        pgblend._embedding_input(
            pgblend._collection_settings(collection.settings) ->> 'embedding_prefix',
            d.title, c.heading, c.content, m.summary, c.context) AS input
    FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON c.document_id = d.id
    INNER JOIN pgblend_data.collection AS collection ON c.collection_id = collection.id
    LEFT JOIN pgblend_data.document_summary AS m ON d.id = m.document_id
    WHERE c.id = ANY(chunk_ids)
    ORDER BY c.id;
END;

-- _embedding_input: the text that is embedded for a chunk: its own, with its context before it.
-- 'title' gives "title: … | text: …", with the heading after the title where there is one;
-- 'summary' the document's summary, a line "---" and the text. 'none' gives the text alone, and so
-- does a chunk without title and heading, or without a summary. What a table's rows are to be read
-- with is before them in all.
CREATE OR REPLACE FUNCTION pgblend._embedding_input(
    prefix text,
    title text,
    heading text,
    content text,
    summary text,
    context text
)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN prefix = 'title' AND concat(title, heading) <> ''
        THEN format(
            'title: %s | text: %s',
            concat_ws(' > ', nullif(title, ''), nullif(heading, '')),
            concat_ws(E'\n', context, content)
        )
    WHEN prefix = 'summary' AND summary <> ''
        THEN format(E'%s\n---\n%s', summary, concat_ws(E'\n', context, content))
    ELSE concat_ws(E'\n', context, content)
END;

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
    IF target.bridged_from IS NOT NULL THEN
        PERFORM pgblend._end_bridge(target.name);
    END IF;
    RETURN fresh;
END;
$function$;

-- _first_embedded: the chunk_index from which on a model embeds the passages of a collection's
-- documents in a space; NULL: none of them.
-- Those of an attached table whose rows have vectors are embedded nowhere, or after the first
-- where embed_long_rows is set, in the space of these vectors alone.
CREATE OR REPLACE FUNCTION pgblend._first_embedded(
    target pgblend_data.embedding_space,
    collection_id bigint
)
RETURNS integer
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN a.space IS NULL THEN CASE WHEN NOT target.brings_vectors THEN 0 END
        WHEN a.space = target.name AND a.embed_long_rows THEN 1
    END
    FROM (VALUES (collection_id)) AS c (id)
    LEFT JOIN pgblend_data.attached_table AS a ON c.id = a.collection_id;
END;

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
