-- _document_operands: a query's phrases and exclusions for whole documents, by alternative.
-- A document passes an alternative when some chunk has each phrase and none has what it excludes.
-- No rows for a query whose alternatives do not bind (_parse_query has no condition then).
CREATE OR REPLACE FUNCTION pgblend._document_operands(query text, config_name text)
RETURNS TABLE (alternative bigint, operand tsquery, excluded boolean)
LANGUAGE sql
STABLE PARALLEL UNSAFE
ROWS 2
BEGIN ATOMIC
    SELECT
        g.place,
        o.operand,
        o.excluded
    FROM (SELECT pgblend._query_groups(query) -> 'groups' AS groups) AS q
    CROSS JOIN LATERAL jsonb_array_elements(q.groups) WITH ORDINALITY AS g (query_group, place)
    CROSS JOIN LATERAL pgblend._group_operands(
        pgblend._regconfig(config_name), g.query_group, jsonb_array_length(q.groups) > 1
    ) AS o
    WHERE (SELECT p.condition FROM pgblend._parse_query(query, config_name) AS p) IS NOT NULL;
END;
