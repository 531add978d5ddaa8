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
    target pgblend_data.embedding_space := pgblend._named_space(space);
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
    RETURN stored;
END;
$function$;
