-- _neighbours: the edges of some nodes: one step of a walk, the heaviest first.
-- direction: out follows edges, in goes against them, both does either. NULL edge_types are all
-- that are stored. Two types are not stored and come where they are named: next leads from a
-- passage to the one after it in its document, part_of from a passage to its document. Ties go by
-- (neighbour, node).
CREATE OR REPLACE FUNCTION pgblend._neighbours(
    nodes bigint[],
    direction text,
    edge_types text[],
    row_limit integer
)
RETURNS TABLE (
    node bigint,
    neighbour bigint,
    is_reverse boolean,
    edge_type text,
    weight real
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 1000
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
DECLARE
    ways boolean[] := CASE direction
        WHEN 'out' THEN '{false}' WHEN 'in' THEN '{true}' ELSE '{false,true}' END;
BEGIN
    IF edge_types && '{next,part_of}' THEN
        RETURN QUERY
        SELECT s.* FROM (
            SELECT e.node, e.neighbour, e.is_reverse, e.edge_type, e.weight
            FROM pgblend_data.edge AS e
            WHERE e.node = ANY(nodes) AND e.is_reverse = ANY(ways)
                AND e.edge_type = ANY(edge_types)
            UNION ALL
            SELECT * FROM pgblend._chunk_neighbours(nodes, ways, edge_types)
        ) AS s
        ORDER BY s.weight DESC, s.neighbour, s.node, s.is_reverse, s.edge_type
        LIMIT row_limit;
    ELSE
        RETURN QUERY
        SELECT e.node, e.neighbour, e.is_reverse, e.edge_type, e.weight
        FROM pgblend_data.edge AS e
        WHERE e.node = ANY(nodes) AND e.is_reverse = ANY(ways)
            AND (edge_types IS NULL OR e.edge_type = ANY(edge_types))
        ORDER BY e.weight DESC, e.neighbour, e.node, e.is_reverse, e.edge_type
        LIMIT row_limit;
    END IF;
END;
$function$;
