-- _document_operands: a query's phrases and exclusions for whole documents, by alternative.
-- A document passes an alternative when some chunk has each phrase and none has what it excludes.
-- For a query whose alternatives bind (_parse_query has a condition then).
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
    ) AS o;
END;
