-- _entity_passages: how many passages speak of entities, which are nodes; none is no row.
CREATE OR REPLACE FUNCTION pgblend._entity_passages(nodes bigint[])
RETURNS TABLE (node bigint, passages bigint)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 100
AS $function$
BEGIN
    RETURN QUERY
    SELECT e.node, count(*)
    FROM pgblend_data.edge AS e
    WHERE e.node = ANY(nodes) AND e.is_reverse AND e.neighbour & 3 = 1
    GROUP BY e.node;
END;
$function$;
