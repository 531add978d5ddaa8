-- _result_page: candidates cut to a page and made into rows: texts, snippets, relevance.
-- The one place where a search reads stored texts: ids in, rows out. min_score and min_relevance
-- cut before the page; relevance is the exact cosine, NULL for all without a query vector.
CREATE OR REPLACE FUNCTION pgblend._result_page(
    query text,
    result_limit integer,
    query_embedding vector,
    space pgblend_data.embedding_space,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    degraded text[]
)
RETURNS SETOF pgblend.search_result
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 10
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    min_relevance double precision := settings ->> 'min_relevance';
    page_offset integer := settings ->> 'offset';
BEGIN
    IF page_offset + result_limit > (settings ->> 'candidate_depth')::integer THEN
        RAISE WARNING
            'rows beyond candidate_depth (%) are not found: offset % + limit % asks for more',
            settings ->> 'candidate_depth', page_offset, result_limit
            USING ERRCODE = '01000', HINT = 'Raise the option candidate_depth.';
    END IF;
    RETURN QUERY
    WITH candidate AS MATERIALIZED (
        SELECT c.*, row_number() OVER (
            ORDER BY c.score DESC, c.document_id, c.chunk_index) AS place
        FROM pgblend._fused_candidates(
            query, query_embedding, space, collection_ids, filter, settings) AS c
    ),

    relevant AS MATERIALIZED (
        SELECT c.*, row_number() OVER (ORDER BY c.place) AS result_rank
        FROM candidate AS c
        WHERE c.score >= (settings ->> 'min_score')::double precision
            AND (min_relevance IS NULL OR coalesce(c.cosine, (
                SELECT e.cosine
                FROM pgblend._cosines(ARRAY[c.chunk_id], query_embedding, space) AS e
            )) >= min_relevance)
    ),

    page AS MATERIALIZED (
        SELECT r.* FROM relevant AS r
        ORDER BY r.place
        OFFSET page_offset LIMIT greatest(0, least(
            result_limit, (settings ->> 'candidate_depth')::integer - page_offset))
    )

    SELECT
        p.result_rank::integer,
        least(p.score, 1),
        coalesce(p.cosine, e.cosine),
        p.document_id,
        p.chunk_id,
        collection.name,
        d.uri,
        d.title,
        pgblend._snippet(
            c.content, concat_ws(' ', pgblend._corrected_words(p.arms), query),
            c.text_search_config),
        c.content,
        c.start_line,
        c.end_line,
        c.pages,
        d.metadata || c.metadata,
        d.source_key,
        NULL::text,
        NULL::text,
        p.arms,
        degraded,
        jsonb_build_object(
            'relevance_basis', CASE WHEN query_embedding IS NOT NULL THEN 'cosine' END)
    FROM page AS p
    INNER JOIN pgblend_data.chunk AS c ON c.id = p.chunk_id
    INNER JOIN pgblend_data.document AS d ON d.id = p.document_id
    INNER JOIN pgblend_data.collection AS collection ON collection.id = d.collection_id
    LEFT JOIN pgblend._cosines(
        (SELECT array_agg(missing.chunk_id) FROM page AS missing WHERE missing.cosine IS NULL),
        query_embedding, space) AS e ON e.chunk_id = p.chunk_id
    ORDER BY p.place;
END;
$function$;

COMMENT ON FUNCTION pgblend._result_page(
    text, integer, vector, pgblend_data.embedding_space, bigint[], jsonb, jsonb, text[]
) IS
'Candidates cut to a page and made into rows: texts, snippets, relevance (the exact cosine).';
