-- _document_facts: what can be said of a document and a search before the search: whether it is
-- there, where, and which conditions it fails.
-- A NULL document is NULL in the facts. failed_conditions is NULL without a filter, operators where
-- the query has neither phrases nor exclusions, or words do not count.
CREATE OR REPLACE FUNCTION pgblend._document_facts(
    document_id bigint,
    query text,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_variable
DECLARE
    chunk_ids bigint[] := ARRAY(
        SELECT c.id FROM pgblend_data.chunk AS c WHERE c.document_id = document_id ORDER BY c.id);
    groups jsonb := pgblend._query_groups(query) -> 'groups';
BEGIN
    RETURN jsonb_build_object(
        'document', (
            SELECT jsonb_build_object(
                'id', d.id, 'source_key', d.source_key, 'uri', d.uri, 'title', d.title,
                'collection', c.name, 'language', d.text_search_config,
                'passages', cardinality(chunk_ids))
            FROM pgblend_data.document AS d
            INNER JOIN pgblend_data.collection AS c ON c.id = d.collection_id
            WHERE d.id = document_id),
        'collections', (
            SELECT coalesce(jsonb_agg(c.name ORDER BY c.name), '[]')
            FROM pgblend_data.collection AS c WHERE c.id = ANY(collection_ids)),
        'settings', settings,
        'failed_conditions', CASE
            WHEN filter IS NOT NULL THEN pgblend._failed_conditions(chunk_ids, filter) END,
        'operators', (
            SELECT jsonb_build_object(
                'phrases', jsonb_path_query_array(groups, '$[*].phrases[*]'),
                'excluded', jsonb_path_query_array(groups, '$[*].excluded[*]'),
                'held', EXISTS (
                    SELECT FROM pgblend_data.chunk AS c
                    WHERE c.id = ANY(chunk_ids) AND c.lexemes @@ b.condition))
            FROM pgblend_data.document AS d
            INNER JOIN pgblend._binding_conditions(query, collection_ids) AS b
                ON b.config_name = d.text_search_config
            WHERE d.id = document_id
                AND (settings #>> '{weights,lexical}')::double precision > 0));
END;
$function$;
