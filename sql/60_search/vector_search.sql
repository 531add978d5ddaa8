-- vector_search: the best passages for a query by its vector alone.
-- The query is embedded through the gateway unless query_embedding is given. One of the two is
-- needed, or there are no rows. score is 1 - cosine distance / 2, relevance and arms have the
-- cosine. Where there are no vectors it raises PB001 (VECTORS_UNAVAILABLE), where the gateway
-- fails PB008.
CREATE OR REPLACE FUNCTION blend.vector_search(
    query text DEFAULT NULL,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
ROWS 10
AS $function$
BEGIN
    RETURN QUERY SELECT r.* FROM unnest((pgblend._search(
        query, result_limit, collections, filter, NULL, options, query_embedding, 'vector')).results) AS r;
END;
$function$;
