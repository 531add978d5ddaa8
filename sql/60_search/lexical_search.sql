-- lexical_search: the best passages for a query by its words alone (BM25).
-- A NULL or blank query gives no rows. A query may have "phrases", or, and -exclusions. Phrases and
-- exclusions must hold; of the plain words any may match. score is BM25 over what no passage can
-- reach; arms has the raw BM25; relevance is NULL. Where no passage has any of the words, the
-- nearest by vectors come instead, marked in `degraded`. The option strict has words or nothing,
-- and errors: PB002 where a collection has no lexical index, PB003 where there are no chunks, PB009
-- where the time is over. PB013 where the server's Python has no numpy.
CREATE OR REPLACE FUNCTION blend.lexical_search(
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
        query, result_limit, collections, filter, NULL, options, NULL, 'lexical')).results) AS r;
END;
$function$;
