-- _fetch_page: the rows of a page, made of its passages' ids: texts, snippets, places.
-- The one place where a search reads stored texts. The arrays, `arms` and `details` as JSON, have
-- an element for each row; a passage that is not there, or that the caller may not see, gives no
-- row. OFFSET 0 keeps each row a look-up by its key: statistics that call the tables empty, as
-- ANALYZE makes them beside a long transaction, would make it a join of all rows with all.
CREATE OR REPLACE FUNCTION pgblend._fetch_page(
    query text,
    chunk_ids bigint[],
    ranks integer[],
    scores double precision[],
    relevances double precision[],
    arms jsonb,
    details jsonb,
    degraded text[]
)
RETURNS SETOF pgblend.search_result
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 10
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH passage AS MATERIALIZED (
        SELECT
            p.*,
            _fetch_page.arms -> (p.place - 1)::integer AS arms,
            c.content,
            c.text_search_config,
            c.start_line,
            c.end_line,
            c.pages,
            d.metadata || c.metadata AS metadata,
            d.id AS document_id,
            d.uri,
            d.title,
            d.source_key,
            o.name AS collection
        FROM unnest(
            _fetch_page.chunk_ids, _fetch_page.ranks, _fetch_page.scores, _fetch_page.relevances
        ) WITH ORDINALITY AS p (chunk_id, rank, score, relevance, place)
        CROSS JOIN LATERAL (
            SELECT c.* FROM pgblend_data.chunk AS c WHERE c.id = p.chunk_id OFFSET 0
        ) AS c
        CROSS JOIN LATERAL (
            SELECT d.* FROM pgblend_data.document AS d WHERE d.id = c.document_id OFFSET 0
        ) AS d
        INNER JOIN pgblend_data.collection AS o ON o.id = d.collection_id
    )

    SELECT
        p.rank,
        p.score,
        p.relevance,
        p.document_id,
        p.chunk_id,
        p.collection,
        p.uri,
        p.title,
        s.snippet,
        p.content,
        p.start_line,
        p.end_line,
        p.pages,
        p.metadata,
        p.source_key,
        NULL::text,
        NULL::text,
        p.arms,
        _fetch_page.degraded,
        _fetch_page.details -> (p.place - 1)::integer
    FROM (
        SELECT
            array_agg(q.rank) AS ranks,
            pgblend._snippets(
                array_agg(q.content),
                array_agg(CASE
                    WHEN q.arms ? 'fuzzy' THEN
                        concat_ws(' ', pgblend._corrected_words(q.arms), query)
                    ELSE query END),
                array_agg(q.text_search_config)) AS snippets
        FROM passage AS q
    ) AS told
    CROSS JOIN LATERAL unnest(told.ranks, told.snippets) AS s (rank, snippet)
    INNER JOIN passage AS p ON p.rank = s.rank
    ORDER BY p.rank;
END;
$function$;

COMMENT ON FUNCTION pgblend._fetch_page(
    text, bigint[], integer[], double precision[], double precision[], jsonb, jsonb, text[]
) IS
'The rows of a page, made of its passages'' ids: texts, snippets, places.';
