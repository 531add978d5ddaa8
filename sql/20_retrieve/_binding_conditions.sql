-- _binding_conditions: a query's phrases and exclusions, by text search configuration.
-- No rows for a NULL query and for one without phrases and exclusions, which costs next to nothing.
CREATE OR REPLACE FUNCTION pgblend._binding_conditions(query text, collection_ids bigint[])
RETURNS TABLE (config_name text, condition tsquery)
LANGUAGE sql
STABLE PARALLEL UNSAFE
ROWS 1
BEGIN ATOMIC
    SELECT
        l.text_search_config,
        pgblend._query_condition(p.alternatives, p.operands, p.exclusions) AS condition
    FROM (
        SELECT DISTINCT c.text_search_config
        FROM pgblend_data.collection_language AS c
        WHERE query ~ '["-]' AND c.collection_id = ANY(collection_ids)
    ) AS l
    CROSS JOIN LATERAL pgblend._parse_query(query, l.text_search_config) AS p
    WHERE p.operands <> '{}';
END;
