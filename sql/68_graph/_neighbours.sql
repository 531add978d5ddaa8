-- _neighbours: the edges of some nodes: one step of a walk, the heaviest first.
-- direction: out follows edges, in goes against them, both does either. NULL edge_types are all
-- that are stored. Two types are not stored and come where they are named. next leads from a
-- passage to the one after it in its document, part_of from a passage to its document. Ties go by
-- (neighbour, node). Collections are those that the edge says its ends are of.
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
    weight real,
    collection_id bigint,
    neighbour_collection_id bigint
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 1000
SET plan_cache_mode = force_generic_plan
AS $function$
DECLARE
    ways boolean[] := CASE direction
        WHEN 'out' THEN '{false}' WHEN 'in' THEN '{true}' ELSE '{false,true}' END;
BEGIN
    RETURN QUERY
    SELECT s.* FROM (
        SELECT e.node, e.neighbour, e.is_reverse, e.edge_type, e.weight,
            e.collection_id, e.neighbour_collection_id
        FROM pgblend_data.edge AS e
        WHERE e.node = ANY(nodes) AND e.is_reverse = ANY(ways)
            AND (edge_types IS NULL OR e.edge_type = ANY(edge_types))
        UNION ALL
        SELECT n, o.id * 4 + 1, way, 'next', 1::real, c.collection_id, c.collection_id
        FROM unnest(nodes) AS n
        CROSS JOIN unnest(ways) AS way
        INNER JOIN pgblend_data.chunk AS c ON c.id = n >> 2
        INNER JOIN pgblend_data.chunk AS o
            ON o.document_id = c.document_id
            AND o.chunk_index = c.chunk_index + CASE WHEN way THEN -1 ELSE 1 END
        WHERE n & 3 = 1 AND 'next' = ANY(edge_types)
        UNION ALL
        SELECT n, c.document_id * 4, false, 'part_of', 1::real, c.collection_id, c.collection_id
        FROM unnest(nodes) AS n
        INNER JOIN pgblend_data.chunk AS c ON c.id = n >> 2
        WHERE n & 3 = 1 AND 'part_of' = ANY(edge_types) AND false = ANY(ways)
        UNION ALL
        SELECT n, c.id * 4 + 1, true, 'part_of', 1::real, c.collection_id, c.collection_id
        FROM unnest(nodes) AS n
        INNER JOIN pgblend_data.chunk AS c ON c.document_id = n >> 2
        WHERE n & 3 = 0 AND 'part_of' = ANY(edge_types) AND true = ANY(ways)
    ) AS s
    ORDER BY s.weight DESC, s.neighbour, s.node, s.is_reverse, s.edge_type
    LIMIT row_limit;
END;
$function$;
