-- fuzzy_search: the best passages for a query by its words, misspelt and unfinished ones put right.
-- A NULL or blank query gives no rows. A word that the searched collections lack stands for up to
-- three similar ones that they have, weighed by likelihood; arms names them (corrections). Words
-- that they have stand for themselves. Phrases and exclusions hold as they are written. score is
-- BM25 over what no passage can reach; relevance is NULL. Errors are those of lexical_search.
CREATE OR REPLACE FUNCTION pgblend.fuzzy_search(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    options jsonb DEFAULT '{}'
)
RETURNS SETOF pgblend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
SET search_path FROM CURRENT
AS $function$
DECLARE
    collection_ids bigint[];
    settings jsonb;
BEGIN
    PERFORM pgblend._check_result_limit(result_limit);
    PERFORM pgblend._check_filter(filter);
    collection_ids := pgblend._searched_collections(collections);
    settings := pgblend._search_settings(options, NULL, collection_ids)
        || '{"weights": {"lexical": 0, "vector": 0, "fuzzy": 1}, "fuzzy": "on"}';
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT r.* FROM pgblend._search_page(
        query, result_limit, NULL, NULL, collection_ids, filter, settings, '{}') AS r;
END;
$function$;

COMMENT ON FUNCTION pgblend.fuzzy_search(text, integer, text[], jsonb, jsonb) IS
'The best passages for a query by its words, misspelt and unfinished ones put right by the words '
'that the searched collections have; arms names the corrections.';
