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
DECLARE
    collections text[] := (
        SELECT ARRAY[c.name] FROM pgblend_data.collection AS c WHERE c.id = run.collection_id);
    words text := pgblend._plain_query(query);
BEGIN
    IF run.arm = 'lexical' THEN
        RETURN QUERY SELECT r.* FROM blend.lexical_search(
            words, run.result_limit, collections, NULL, '{"strict": true}' || run.options) AS r;
    ELSIF run.arm = 'vector' THEN
        RETURN QUERY SELECT r.* FROM blend.vector_search(
            query, run.result_limit, collections, NULL, run.options, query_embedding) AS r;
    ELSIF run.arm = 'fuzzy' THEN
        RETURN QUERY SELECT r.* FROM blend.fuzzy_search(
            words, run.result_limit, collections, NULL, run.options) AS r;
    ELSE
        RETURN QUERY SELECT r.* FROM blend.hybrid_search(
            words, run.result_limit, collections, NULL, run.profile, run.options,
            query_embedding) AS r;
    END IF;
END;
$function$;
