-- _check_graph_settings: raise unless a walk's depth, direction, edge types and limit are right.
CREATE OR REPLACE FUNCTION pgblend._check_graph_settings(
    depth integer,
    direction text,
    edge_types text[],
    node_limit integer
)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    PERFORM pgblend._check_size('edge_types', cardinality(edge_types), 'items', 'array_items');
    IF depth IS NULL OR depth NOT BETWEEN 0 AND 10 THEN
        RAISE EXCEPTION 'depth is %: expected a number from 0 to 10', coalesce(depth::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'Each step multiplies the nodes; 1 to 3 is usual.';
    ELSIF direction IS NULL OR direction NOT IN ('both', 'in', 'out') THEN
        RAISE EXCEPTION 'direction is %: expected both, in or out',
            coalesce('"' || left(direction, 200) || '"', 'NULL')
            USING ERRCODE = '22023', HINT = 'out follows edges, in goes against them.';
    ELSIF array_position(edge_types, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'edge_types has a NULL: expected texts'
            USING ERRCODE = '22023', HINT = 'SELECT DISTINCT edge_type FROM blend.edges';
    ELSIF node_limit IS NULL OR node_limit NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION 'node_limit is %: expected a number from 1 to 100000',
            coalesce(node_limit::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'The default is 1000.';
    END IF;
END;
$function$;
