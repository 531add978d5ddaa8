-- _fetch_page: the rows of a page, made of its passages' ids: texts, snippets, places.
-- The arrays, `arms` and `details` as JSON, have an element for each row; a passage that is not
-- there, or that the caller may not see, gives no row. OFFSET 0 keeps each row a look-up by its
-- key: statistics that call the tables empty, as ANALYZE makes them beside a long transaction,
-- would make it a join of all rows with all.
CREATE OR REPLACE FUNCTION pgblend._fetch_page(
    chunk_ids bigint[],
    ranks integer[],
    scores double precision[],
    relevances double precision[],
    snippets text[],
    arms jsonb,
    details jsonb,
    degraded text[]
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 10
SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT
        p.rank,
        p.score,
        p.relevance,
        d.id,
        c.id,
        o.name,
        d.uri,
        d.title,
        p.snippet,
        c.content,
        c.start_line,
        c.end_line,
        c.pages,
        d.metadata || c.metadata,
        d.source_key,
        NULL::text,
        NULL::text,
        _fetch_page.arms -> (p.place - 1)::integer,
        _fetch_page.degraded,
        _fetch_page.details -> (p.place - 1)::integer
    FROM unnest(
        _fetch_page.chunk_ids, _fetch_page.ranks, _fetch_page.scores, _fetch_page.relevances,
        _fetch_page.snippets
    ) WITH ORDINALITY AS p (chunk_id, rank, score, relevance, snippet, place)
    CROSS JOIN LATERAL (
        SELECT c.* FROM pgblend_data.chunk AS c WHERE c.id = p.chunk_id OFFSET 0
    ) AS c
    CROSS JOIN LATERAL (
        SELECT d.* FROM pgblend_data.document AS d WHERE d.id = c.document_id OFFSET 0
    ) AS d
    INNER JOIN pgblend_data.collection AS o ON o.id = d.collection_id
    ORDER BY p.rank;
END;
$function$;
