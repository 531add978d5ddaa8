-- fuzzy_search: the best passages for a query by its words, misspelt and unfinished ones put right.
-- A NULL or blank query gives no rows. A word that the searched collections lack stands for up to
-- three similar ones that they have, weighed by likelihood; arms names them (corrections). Words
-- that they have stand for themselves. Phrases and exclusions hold as they are written. score is
-- BM25 over what no passage can reach; relevance is NULL. Errors are those of lexical_search.
CREATE OR REPLACE FUNCTION blend.fuzzy_search(
    query text,
    result_limit integer DEFAULT 10,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    options jsonb DEFAULT '{}'
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
AS $function$
BEGIN
    RETURN QUERY SELECT r.* FROM unnest((pgblend._search(
        query, result_limit, collections, filter, NULL, options, NULL, 'fuzzy')).results) AS r;
END;
$function$;
