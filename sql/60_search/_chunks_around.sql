-- _chunks_around: chunks and those around them in their documents, in one query.
-- As many neighbours on either side as context_chars can reach: eight at most, since smaller chunks
-- than 300 characters are rare.
-- Chunks that are not there, or that the caller may not see, are left out.
CREATE OR REPLACE FUNCTION pgblend._chunks_around(chunk_ids bigint[], settings jsonb)
RETURNS json
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    reach integer := least(8, ceil(greatest(
        (settings #>> '{context_chars,before}')::numeric,
        (settings #>> '{context_chars,after}')::numeric) / 300));
BEGIN
    RETURN (
        SELECT coalesce(json_agg(p), '[]')
        FROM (
            SELECT
                c.id AS chunk_id,
                c.document_id,
                c.chunk_index,
                c.content,
                c.kind,
                c.own_start,
                c.start_offset,
                c.end_offset,
                c.start_line,
                c.end_line,
                c.pages,
                c.token_count,
                c.piece_tokens,
                c.context
            FROM (
                SELECT DISTINCT h.document_id, h.chunk_index + step AS chunk_index
                FROM pgblend_data.chunk AS h
                CROSS JOIN generate_series(-reach, reach) AS step
                WHERE h.id = ANY(chunk_ids)
            ) AS place
            INNER JOIN pgblend_data.chunk AS c
                ON (c.document_id, c.chunk_index) = (place.document_id, place.chunk_index)
            ORDER BY c.document_id, c.chunk_index
        ) AS p
    );
END;
$function$;
