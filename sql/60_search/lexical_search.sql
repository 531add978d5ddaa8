-- lexical_search: the best passages for a query by its words alone (BM25).
-- A NULL or blank query gives no rows. Quoted phrases and -exclusions must hold; of the plain words
-- any may match. score is BM25 over what no passage can reach; arms has the raw BM25; relevance is
-- NULL. Where no passage has any of the words, the nearest by vectors come instead, marked in
-- `degraded`. The option strict has words or nothing, and errors: PB002 where a collection has no
-- lexical index, PB003 where there are no chunks, PB009 where the time is over.
CREATE OR REPLACE FUNCTION pgblend.lexical_search(
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
        || '{"weights": {"lexical": 1, "vector": 0}}';
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT r.* FROM pgblend._search_page(
        query, result_limit, NULL, NULL, collection_ids, filter, settings, '{}') AS r;
    IF FOUND OR result_limit = 0 OR (settings ->> 'strict')::boolean THEN
        RETURN;
    ELSIF settings @> '{"offset": 0, "min_score": 0, "min_relevance": null}' OR NOT EXISTS (
        SELECT FROM pgblend._search_page(
            query, 1, NULL, NULL, collection_ids, filter,
            settings || '{"offset": 0, "min_score": 0, "min_relevance": null}', '{}'))
    THEN
        RETURN QUERY SELECT r.* FROM pgblend._instead_of_words(
            query, result_limit, collection_ids, filter, settings) AS r;
    END IF;
END;
$function$;

COMMENT ON FUNCTION pgblend.lexical_search(text, integer, text[], jsonb, jsonb) IS
'The best passages for a query by its words alone (BM25). Operators: "phrase", or, -exclusion. '
'Words that are nowhere: the nearest by vectors, marked in degraded, or with the option strict '
'none.';
