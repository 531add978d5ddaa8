-- _fetch_page: the rows of a page, made of its passages' ids: texts, snippets, places.
-- The one place where a search reads stored texts. The arrays have an element for each row; a
-- passage that is not there, or that the caller may not see, gives no row.
CREATE OR REPLACE FUNCTION pgblend._fetch_page(
    query text,
    chunk_ids bigint[],
    ranks integer[],
    scores double precision[],
    relevances double precision[],
    arms jsonb[],
    details jsonb[],
    degraded text[]
)
RETURNS SETOF pgblend.search_result
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 10
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT
        p.rank,
        p.score,
        p.relevance,
        c.document_id,
        c.id AS chunk_id,
        o.name AS collection,
        d.uri,
        d.title,
        pgblend._snippet(
            c.content, concat_ws(' ', pgblend._corrected_words(p.arms), query),
            c.text_search_config
        ) AS snippet,
        c.content,
        c.start_line,
        c.end_line,
        c.pages,
        d.metadata || c.metadata AS metadata,
        d.source_key,
        NULL::text AS context_before,
        NULL::text AS context_after,
        p.arms,
        _fetch_page.degraded,
        p.details
    FROM unnest(
        _fetch_page.chunk_ids, _fetch_page.ranks, _fetch_page.scores, _fetch_page.relevances,
        _fetch_page.arms, _fetch_page.details
    ) AS p (
        chunk_id, rank, score, relevance, arms, details
    )
    INNER JOIN pgblend_data.chunk AS c ON p.chunk_id = c.id
    INNER JOIN pgblend_data.document AS d ON c.document_id = d.id
    INNER JOIN pgblend_data.collection AS o ON d.collection_id = o.id
    ORDER BY p.rank;
END;
$function$;

COMMENT ON FUNCTION pgblend._fetch_page(
    text, bigint[], integer[], double precision[], double precision[], jsonb[], jsonb[], text[]
) IS
'The rows of a page, made of its passages'' ids: texts, snippets, places.';
