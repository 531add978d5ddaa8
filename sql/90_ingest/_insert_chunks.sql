-- _insert_chunks: add chunks to documents, an array of them for each; returns how many.
-- chunk_index continues after the highest of each document. The chunks must be right
-- (_chunk_error); documents that are not there get none.
CREATE OR REPLACE FUNCTION pgblend._insert_chunks(document_ids bigint[], chunks jsonb[])
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    added integer;
BEGIN
    INSERT INTO pgblend_data.chunk (
        document_id, chunk_index, collection_id, bucket, content, heading, kind, own_start,
        start_offset, end_offset, start_line, end_line, pages, token_count, piece_tokens, metadata,
        text_search_config, lexemes, length, own_position, own_length)
    SELECT
        d.id, coalesce(h.highest + 1, 0) + n.place - 1, d.collection_id, d.bucket, n.content,
        n.heading, coalesce(n.kind, 'doc'), coalesce(n.own_start, 0), n.start_offset, n.end_offset,
        n.start_line, n.end_line, n.pages,
        coalesce(n.token_count, pgblend._approximate_tokens(n.content)),
        n.piece_tokens, coalesce(n.metadata, '{}'), d.text_search_config, '', 0, 0, 0
    FROM unnest(document_ids, chunks) AS g (document_id, chunks)
    INNER JOIN pgblend_data.document AS d ON d.id = g.document_id
    CROSS JOIN LATERAL (
        SELECT max(c.chunk_index) AS highest
        FROM pgblend_data.chunk AS c
        WHERE c.document_id = g.document_id
    ) AS h
    CROSS JOIN LATERAL ROWS FROM (
        jsonb_to_recordset(g.chunks) AS (
            content text, heading text, kind text, own_start integer, start_offset integer,
            end_offset integer, start_line integer, end_line integer, pages integer[],
            token_count integer, piece_tokens smallint[], metadata jsonb)
    ) WITH ORDINALITY AS n (
        content, heading, kind, own_start, start_offset, end_offset, start_line, end_line, pages,
        token_count, piece_tokens, metadata, place);
    GET DIAGNOSTICS added = ROW_COUNT;
    RETURN added;
END;
$function$;
