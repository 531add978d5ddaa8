-- _with_text_around: the rows of a search with the text before and after each passage.
-- As many characters as the setting context_chars says; with 0 a column stays NULL. Where a passage
-- is the first or last of its document, the text is empty. All neighbours are read by one query.
CREATE OR REPLACE FUNCTION pgblend._with_text_around(
    results blend.search_result[],
    settings jsonb
)
RETURNS blend.search_result[]
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    characters_before integer := (settings #>> '{context_chars,before}')::numeric;
    characters_after integer := (settings #>> '{context_chars,after}')::numeric;
    around record;
    place integer;
BEGIN
    FOR around IN
        WITH chunk AS (
            SELECT e.chunk, (e.chunk ->> 'document_id')::bigint AS document_id
            FROM json_array_elements(pgblend._chunks_around(
                ARRAY(SELECT r.chunk_id FROM unnest(results) AS r), settings)) AS e (chunk)
        )

        SELECT r.place, t.context_before, t.context_after
        FROM unnest(results) WITH ORDINALITY AS r (
            rank, score, relevance, document_id, chunk_id, collection, uri, title, snippet, content,
            start_line, end_line, pages, metadata, source_key, context_before, context_after, arms,
            degraded, details, place)
        INNER JOIN LATERAL (
            SELECT json_agg(c.chunk) AS chunks,
                max((c.chunk ->> 'chunk_index')::integer) FILTER (
                    WHERE (c.chunk ->> 'chunk_id')::bigint = r.chunk_id) AS chunk_index
            FROM chunk AS c WHERE c.document_id = r.document_id
        ) AS d ON d.chunk_index IS NOT NULL
        CROSS JOIN LATERAL pgblend._text_around(
            d.chunks, d.chunk_index, characters_before, characters_after) AS t
    LOOP
        place := around.place;
        IF characters_before > 0 THEN
            results[place].context_before := around.context_before;
        END IF;
        IF characters_after > 0 THEN
            results[place].context_after := around.context_after;
        END IF;
    END LOOP;
    RETURN results;
END;
$function$;
