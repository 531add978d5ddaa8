-- search_explain: hybrid_search told as one JSON document: what each stage did, and how each row
-- came to its place.
-- {"query", "profile", "mode", "meta": {"mode", "expanded", "reranked", "vectorsUsed"},
-- "collections", "settings": {name: {"value", "source"}}, "stages": [{"name", "start_ms", "ms",
-- "rows", "skipped", "details"}], "degraded", "total_ms", "results": [{"rank", "score", …, "arms":
-- {arm: {"rank", "score", "weight"}}, "parts": {name: part of the score}, "scores": {stage: score},
-- "places": {stage: place}}]}. A setting's source is where its value came from. The parts add up to
-- the score. It runs the very search, so arguments and errors are those of hybrid_search; a NULL or
-- blank query has no stages and results.
CREATE OR REPLACE FUNCTION blend.search_explain(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
BEGIN
    RETURN (pgblend._search(
        query, result_limit, collections, filter, profile, options, query_embedding,
        traced => 'page')).trace;
END;
$function$;
