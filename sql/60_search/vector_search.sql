-- vector_search: the best passages for a query by its vector alone.
-- The query is embedded through the gateway unless query_embedding is given; one of the two is
-- needed, or there are no rows. score is 1 - cosine distance / 2, relevance and arms have the
-- cosine. Where there are no vectors it raises PB001 (VECTORS_UNAVAILABLE), where the gateway fails
-- PB008.
CREATE OR REPLACE FUNCTION pgblend.vector_search(
    query text DEFAULT NULL,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL
)
RETURNS SETOF pgblend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
ROWS 10
SET search_path FROM CURRENT
AS $function$
DECLARE
    collection_ids bigint[];
    settings jsonb;
    space pgblend_data.embedding_space;
    embedded record;
BEGIN
    PERFORM pgblend._check_result_limit(result_limit);
    PERFORM pgblend._check_filter(filter);
    collection_ids := pgblend._searched_collections(collections);
    settings := pgblend._search_settings(options, NULL, collection_ids)
        || '{"weights": {"lexical": 0, "vector": 1}}';
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' AND query_embedding IS NULL THEN
        RETURN;
    END IF;
    space := pgblend._active_space();
    SELECT e.* INTO embedded FROM pgblend._query_embedding(
        query, query_embedding, space,
        least((settings #>> '{timeouts_ms,embed}')::numeric,
            (settings #>> '{timeouts_ms,total}')::numeric)::integer) AS e;
    IF embedded.problem IS NOT NULL THEN
        RAISE EXCEPTION 'VECTORS_UNAVAILABLE: %', embedded.problem
            USING ERRCODE = embedded.problem_code,
            HINT = concat(embedded.hint, '; lexical_search needs no vectors');
    ELSIF NOT pgblend._has_vectors(space, collection_ids) THEN
        RAISE EXCEPTION 'VECTORS_UNAVAILABLE: no passage searched has a vector'
            USING ERRCODE = 'PB001', HINT = 'Run pgblend ingest with a model gateway to make them.';
    END IF;
    RETURN QUERY SELECT r.* FROM pgblend._result_page(
        query, result_limit, embedded.embedding, space, collection_ids, filter, settings,
        CASE WHEN pgblend._vectors_waiting(space.name, collection_ids)
            THEN ARRAY['vector: some passages have no vector yet (pgblend ingest makes them)']
            ELSE '{}' END) AS r;
END;
$function$;

COMMENT ON FUNCTION pgblend.vector_search(text, integer, text[], jsonb, jsonb, vector) IS
'The best passages for a query by its vector alone (cosine). Raises PB001 (VECTORS_UNAVAILABLE) '
'where there are no vectors, PB008 where the gateway fails.';
