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
    first_index integer;
    added integer;
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
    SELECT coalesce(max(c.chunk_index) + 1, 0) INTO first_index
    FROM pgblend_data.chunk AS c WHERE c.document_id = _append_chunks.document_id;
    INSERT INTO pgblend_data.chunk (
        document_id, chunk_index, collection_id, bucket, content, heading, kind, own_start,
        start_offset, end_offset, start_line, end_line, pages, token_count, piece_tokens, metadata,
        text_search_config, lexemes, length)
    SELECT
        d.id, first_index + n.place - 1, d.collection_id, d.bucket, n.content, n.heading,
        coalesce(n.kind, 'doc'), coalesce(n.own_start, 0), n.start_offset, n.end_offset,
        n.start_line, n.end_line, n.pages,
        coalesce(n.token_count, pgblend._approximate_tokens(n.content)),
        n.piece_tokens, coalesce(n.metadata, '{}'), d.text_search_config, '', 0
    FROM pgblend_data.document AS d
    CROSS JOIN ROWS FROM (
        jsonb_to_recordset(_append_chunks.chunks) AS (
            content text, heading text, kind text, own_start integer, start_offset integer,
            end_offset integer, start_line integer, end_line integer, pages integer[],
            token_count integer, piece_tokens smallint[], metadata jsonb)
    ) WITH ORDINALITY AS n (
        content, heading, kind, own_start, start_offset, end_offset, start_line, end_line, pages,
        token_count, piece_tokens, metadata, place)
    WHERE d.id = _append_chunks.document_id;
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END;
$function$;

COMMENT ON FUNCTION pgblend._append_chunks(bigint, jsonb) IS
'Add chunks to those that a document has, chunk_index continuing after the highest; returns how '
'many.';
