-- _append_chunks: add chunks to those that a document has; returns how many.
-- chunk_index continues after the highest. NULL, what is no array and a wrong chunk are errors; an
-- empty array adds nothing.
CREATE OR REPLACE FUNCTION pgblend._append_chunks(document_id bigint, chunks jsonb)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    wrong record;
BEGIN
    IF jsonb_typeof(_append_chunks.chunks) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'chunks is %: expected an array of objects with "content"',
            coalesce(left(_append_chunks.chunks::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'Leave chunks NULL to have the content split here.';
    END IF;
    SELECT e.place - 1 AS chunk_index, e.chunk, pgblend._chunk_error(e.chunk) AS problem
    INTO wrong
    FROM jsonb_array_elements(_append_chunks.chunks) WITH ORDINALITY AS e (chunk, place)
    WHERE pgblend._chunk_error(e.chunk) IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'chunk % is %: %',
            wrong.chunk_index, left(wrong.chunk::text, 200), wrong.problem
            USING ERRCODE = '22023', HINT = 'Chunks are counted from 0.';
    END IF;
    RETURN pgblend._insert_chunks(
        ARRAY[_append_chunks.document_id], ARRAY[_append_chunks.chunks]);
END;
$function$;

COMMENT ON FUNCTION pgblend._append_chunks(bigint, jsonb) IS
'Add chunks to those that a document has, chunk_index continuing after the highest; returns how '
'many.';
