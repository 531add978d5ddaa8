-- _read_chunks: chunks of one document as ingest_document takes them, typed; NULL for NULL.
-- Keys that are not there and JSON nulls are NULL, other keys are left alone. What is no array, and
-- a chunk that is wrong, is an error that names it.
CREATE OR REPLACE FUNCTION pgblend._read_chunks(chunks jsonb)
RETURNS pgblend_data.given_chunk[]
LANGUAGE plpgsql
STABLE PARALLEL SAFE
STRICT
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    wrong record;
BEGIN
    IF jsonb_typeof(chunks) <> 'array' THEN
        RAISE EXCEPTION 'chunks is %: expected an array of objects with "content"',
            left(chunks::text, 200)
            USING ERRCODE = '22023', HINT = 'Leave chunks NULL to have the content split here.';
    END IF;
    SELECT e.place - 1 AS chunk_index, e.chunk, p.problem INTO wrong
    FROM jsonb_array_elements(chunks) WITH ORDINALITY AS e (chunk, place)
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN jsonb_typeof(e.chunk) <> 'object' THEN 'expected an object'
            WHEN jsonb_typeof(e.chunk -> 'content') IS DISTINCT FROM 'string'
                THEN '"content": expected a string'
            WHEN coalesce(e.chunk ->> 'kind', 'doc') NOT IN ('code', 'doc', 'signature', 'metadata')
                THEN '"kind": expected code, doc, signature or metadata'
            WHEN coalesce(jsonb_typeof(e.chunk -> 'metadata'), 'null') NOT IN ('object', 'null')
                THEN '"metadata": expected an object'
            WHEN coalesce(jsonb_typeof(e.chunk -> 'own_start'), 'null') NOT IN ('number', 'null')
                OR (nullif(e.chunk -> 'own_start', 'null'))::numeric
                    NOT BETWEEN 0 AND length(e.chunk ->> 'content')
                THEN '"own_start": expected a place in content, from 0'
            WHEN coalesce(jsonb_typeof(e.chunk -> 'piece_tokens'), 'null') NOT IN ('array', 'null')
                OR jsonb_path_exists(
                    e.chunk, '$.piece_tokens[*] ? (@.type() != "number"
                        || !(@ >= 0 && @ <= 32767 && @.floor() == @))')
                THEN '"piece_tokens": expected an array of whole numbers from 0 to 32767'
        END AS problem
        OFFSET 0
    ) AS p
    WHERE p.problem IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'chunk % is %: %',
            wrong.chunk_index, left(wrong.chunk::text, 200), wrong.problem
            USING ERRCODE = '22023', HINT = 'Chunks are counted from 0.';
    END IF;
    RETURN ARRAY(
        SELECT jsonb_populate_record(NULL::pgblend_data.given_chunk, e.chunk || '{"document": 1}')
        FROM jsonb_array_elements(chunks) WITH ORDINALITY AS e (chunk, place)
        ORDER BY e.place);
END;
$function$;
