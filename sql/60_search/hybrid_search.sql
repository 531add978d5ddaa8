-- hybrid_search: the best passages for a query, by words and vectors fused.
-- A NULL or blank query gives no rows. Without a query_embedding the query is embedded through the
-- gateway; where that fails the words answer alone, `degraded` and a WARNING say why, and the
-- option strict makes it an error. Misspelt words are put right by the fuzzy arm (option fuzzy).
-- Weights that are all 0 are an error. Options: pgblend.setting_catalog(), scope 'search'.
CREATE OR REPLACE FUNCTION pgblend.hybrid_search(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
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
    degraded text[] := '{}';
BEGIN
    PERFORM pgblend._check_result_limit(result_limit);
    PERFORM pgblend._check_filter(filter);
    collection_ids := pgblend._searched_collections(collections);
    settings := pgblend._search_settings(options, profile, collection_ids);
    IF settings #> '{weights}' @> '{"lexical": 0, "vector": 0}'
        AND NOT (settings ->> 'fuzzy' = 'on' AND (settings #>> '{weights,fuzzy}')::numeric > 0)
    THEN
        RAISE EXCEPTION 'options: "weights" are all 0: expected one above 0'
            USING ERRCODE = '22023', HINT = 'An arm of weight 0 is not run.';
    ELSIF coalesce(btrim(query, E' \t\r\n'), '') = '' THEN
        RETURN;
    END IF;
    IF (settings #>> '{weights,vector}')::double precision > 0 THEN
        space := pgblend._active_space();
        SELECT e.* INTO embedded FROM pgblend._query_embedding(
            query, query_embedding, space,
            least((settings #>> '{timeouts_ms,embed}')::numeric,
                (settings #>> '{timeouts_ms,total}')::numeric)::integer) AS e;
        query_embedding := embedded.embedding;
        IF embedded.problem IS NOT NULL THEN
            degraded := pgblend._degrade(
                'vector', embedded.problem, embedded.problem_code, embedded.hint, settings);
        ELSIF pgblend._vectors_waiting(space.name, collection_ids) THEN
            degraded := ARRAY[
                'vector: some passages have no vector yet (pgblend ingest makes them)'];
        END IF;
    ELSE
        query_embedding := NULL;
    END IF;
    RETURN QUERY SELECT r.* FROM pgblend._search_page(
        query, result_limit, query_embedding, space, collection_ids, filter, settings, degraded
    ) AS r;
END;
$function$;

COMMENT ON FUNCTION pgblend.hybrid_search(text, integer, text[], jsonb, text, jsonb, vector) IS
'The best passages for a query, by words (BM25) and vectors fused: SELECT * FROM '
'hybrid_search(''how do I deploy to production''). Options: pgblend.setting_catalog(), scope '
'search. Wrong options raise 22023; a stage that fails is named in degraded and in a WARNING.';
