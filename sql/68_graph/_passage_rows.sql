-- _passage_rows: passages with what a search shows of them and of their documents.
-- One that is not there, or that the caller may not see, gives no row.
CREATE OR REPLACE FUNCTION pgblend._passage_rows(chunk_ids bigint[])
RETURNS TABLE (
    chunk_id bigint,
    document_id bigint,
    collection text,
    source_key text,
    uri text,
    title text,
    content text,
    text_search_config text,
    start_line integer,
    end_line integer,
    pages integer[],
    metadata jsonb
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 10
AS $function$
BEGIN
    RETURN QUERY
    SELECT
        c.id, d.id, o.name, d.source_key, d.uri, d.title, c.content, c.text_search_config,
        c.start_line, c.end_line, c.pages, d.metadata || c.metadata
    -- OFFSET 0: each row is a look-up, also where statistics call the tables empty.
    FROM unnest(chunk_ids) AS u (id)
    CROSS JOIN LATERAL (
        SELECT c.* FROM pgblend_data.chunk AS c WHERE c.id = u.id OFFSET 0) AS c
    CROSS JOIN LATERAL (
        SELECT d.* FROM pgblend_data.document AS d WHERE d.id = c.document_id OFFSET 0) AS d
    INNER JOIN pgblend_data.collection AS o ON o.id = d.collection_id;
END;
$function$;
