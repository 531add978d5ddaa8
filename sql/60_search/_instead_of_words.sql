-- _instead_of_words: the vector arm's page for a query whose words are nowhere; no rows where there
-- are no vectors.
-- None either for a query with phrases or exclusions: those must hold, and vectors know nothing of
-- them. `degraded` says whose rows they are, and so does a WARNING.
CREATE OR REPLACE FUNCTION pgblend._instead_of_words(
    query text,
    result_limit integer,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb
)
RETURNS SETOF pgblend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 10
SET search_path FROM CURRENT
AS $function$
DECLARE
    space pgblend_data.embedding_space := pgblend._active_space();
    embedded record;
BEGIN
    IF space.name IS NULL OR NOT pgblend._has_vectors(space, collection_ids)
        OR EXISTS (
            SELECT FROM pgblend_data.collection_language AS l
            CROSS JOIN LATERAL pgblend._parse_query(query, l.text_search_config) AS p
            WHERE l.collection_id = ANY(collection_ids) AND p.condition IS NOT NULL)
    THEN
        RETURN;
    END IF;
    SELECT e.* INTO embedded FROM pgblend._query_embedding(
        query, NULL, space,
        least((settings #>> '{timeouts_ms,embed}')::numeric,
            (settings #>> '{timeouts_ms,total}')::numeric)::integer) AS e;
    IF embedded.problem IS NOT NULL THEN
        PERFORM pgblend._degrade(
            'vector', embedded.problem, embedded.problem_code, embedded.hint, settings);
        RETURN;
    END IF;
    RETURN QUERY SELECT r.* FROM pgblend._result_page(
        query, result_limit, embedded.embedding, space, collection_ids, filter,
        settings || '{"weights": {"lexical": 0, "vector": 1}}',
        pgblend._degrade(
            'lexical', 'no passage was found by its words', 'PB003',
            'these rows are the nearest by vectors; the option strict leaves them out', settings)
    ) AS r;
END;
$function$;

COMMENT ON FUNCTION pgblend._instead_of_words(text, integer, bigint[], jsonb, jsonb) IS
'The vector arm''s page for a query whose words are nowhere, marked in degraded; no rows where '
'there are no vectors, or the query has phrases or exclusions.';
