-- _judged_search: the passages that a run's search finds for one query.
-- The query is prose: a quotation mark or a hyphen in it is no operator, as it would be for
-- somebody who types it. The lexical arm is searched strictly: nearest passages by vectors, in
-- place of words that are nowhere, would be the other arm's figures. Without an embedding the
-- gateway is asked, as in any search. The search log has it as an evaluation's.
CREATE OR REPLACE FUNCTION pgblend._judged_search(
    run pgblend_data.evaluation_run,
    query text,
    query_embedding vector
)
RETURNS SETOF blend.search_result
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 100
SET "pgblend.purpose" = 'evaluation'
AS $function$
BEGIN
    RETURN QUERY
    SELECT r.*
    FROM pgblend._search(
        CASE run.arm WHEN 'vector' THEN query ELSE pgblend._plain_query(query) END,
        run.result_limit,
        (SELECT ARRAY[c.name] FROM pgblend_data.collection AS c WHERE c.id = run.collection_id),
        NULL,
        run.profile,
        CASE run.arm WHEN 'lexical' THEN '{"strict": true}'::jsonb ELSE '{}' END || run.options,
        CASE WHEN run.arm IN ('hybrid', 'vector') THEN query_embedding END,
        nullif(run.arm, 'hybrid')) AS s
    CROSS JOIN LATERAL unnest(s.results) AS r;
END;
$function$;
