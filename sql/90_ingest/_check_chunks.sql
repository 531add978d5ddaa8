-- _check_chunks: raise unless every element is an array of chunks as ingest_document takes them.
CREATE OR REPLACE FUNCTION pgblend._check_chunks(chunks jsonb[])
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    wrong record;
BEGIN
    SELECT g.chunks INTO wrong
    FROM unnest(_check_chunks.chunks) AS g (chunks)
    WHERE jsonb_typeof(g.chunks) IS DISTINCT FROM 'array'
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'chunks is %: expected an array of objects with "content"',
            coalesce(left(wrong.chunks::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'Leave chunks NULL to have the content split here.';
    END IF;
    SELECT e.place - 1 AS chunk_index, e.chunk, pgblend._chunk_error(e.chunk) AS problem
    INTO wrong
    FROM unnest(_check_chunks.chunks) AS g (chunks)
    CROSS JOIN LATERAL jsonb_array_elements(g.chunks) WITH ORDINALITY AS e (chunk, place)
    WHERE pgblend._chunk_error(e.chunk) IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'chunk % is %: %',
            wrong.chunk_index, left(wrong.chunk::text, 200), wrong.problem
            USING ERRCODE = '22023', HINT = 'Chunks are counted from 0.';
    END IF;
END;
$function$;
