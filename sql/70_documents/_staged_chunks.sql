-- _staged_chunks: chunks of the temporary table chunk_stage, of the documents in some places.
-- The client fills it by COPY: the columns of given_chunk, and `number`, which orders them. The
-- `document` that is returned is the place among `places`, from 1.
CREATE OR REPLACE FUNCTION pgblend._staged_chunks(places integer[])
RETURNS pgblend_data.given_chunk[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN ARRAY(
        SELECT ROW(
            array_position(places, s.document), s.content, s.heading, s.kind, s.own_start,
            s.start_offset, s.end_offset, s.start_line, s.end_line, s.pages, s.token_count,
            s.piece_tokens, s.metadata)::pgblend_data.given_chunk
        FROM pg_temp.chunk_stage AS s
        WHERE s.document = ANY(places)
        ORDER BY s.number);
END;
$function$;
