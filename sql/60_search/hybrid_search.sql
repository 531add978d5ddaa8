-- hybrid_search: the best passages for a query, by words and vectors fused.
-- A NULL or blank query gives no rows. Without a query_embedding the query is embedded through the
-- gateway. Where that fails the words answer alone; `degraded` and a WARNING say why, and the
-- option strict makes it an error. Misspelt words are put right by the fuzzy arm (option fuzzy).
-- score falls with rank, but where MMR chooses rows for variety (option mmr): it is the score
-- before that. Weights that are all 0 are an error. Options: blend.setting_catalog(), scope
-- 'search'. Example: SELECT * FROM hybrid_search('how do I deploy to production').
CREATE OR REPLACE FUNCTION blend.hybrid_search(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
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
        query, result_limit, collections, filter, profile, options, query_embedding)).results) AS r;
END;
$function$;
