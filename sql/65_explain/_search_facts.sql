-- _search_facts: a document's way through a search: its candidates in the whole pool, and its place
-- in each arm's whole list.
-- {"arms", "stages", "candidates": [{"chunk_id", "score", "relevance", "places", "dropped"}],
-- "start", "result_limit"}; start is how many results come before the page, and dropped says which
-- stage left a candidate out, why, and for which other document.
CREATE OR REPLACE FUNCTION pgblend._search_facts(
    document_id bigint,
    query text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_variable
DECLARE
    collection_ids bigint[] := pgblend._searched_collections(collections);
    settings jsonb := pgblend._search_settings(options, profile, collection_ids);
    search record;
    own_candidates jsonb;
BEGIN
    IF query_embedding IS NULL AND (settings #>> '{weights,vector}')::double precision > 0 THEN
        query_embedding := pgblend._query_embedding(
            query, least((settings #>> '{timeouts_ms,embed}')::numeric,
                (settings #>> '{timeouts_ms,total}')::numeric)::integer, settings ->> 'space');
    END IF;
    search := pgblend._search(
        query, result_limit, collections, filter, profile, options, query_embedding,
        traced => 'pool');
    own_candidates := (
        SELECT coalesce(jsonb_agg(c.value || jsonb_build_object(
            'relevance', coalesce(c.value -> 'relevance', c.value #> '{arms,vector,score}'),
            'dropped', c.value -> 'dropped' || jsonb_build_object('of', (
                SELECT coalesce(nullif(d.title, ''), d.source_key)
                FROM pgblend_data.chunk AS kept
                INNER JOIN pgblend_data.document AS d ON d.id = kept.document_id
                WHERE kept.id = (c.value #>> '{dropped,duplicate_of}')::bigint)))), '[]')
        FROM jsonb_array_elements(search.trace -> 'candidates') AS c
        WHERE c.value -> 'document_id' = to_jsonb(document_id));
    RETURN jsonb_build_object(
        'arms', pgblend._arm_facts(
            document_id, query, query_embedding, collection_ids,
            pgblend._search_filter(filter, settings), settings, search.trace),
        'stages', search.trace -> 'stages',
        'candidates', own_candidates,
        'start', coalesce(search.results[1].rank - 1, (settings ->> 'offset')::integer),
        'result_limit', result_limit);
END;
$function$;
