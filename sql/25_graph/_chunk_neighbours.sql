-- _chunk_neighbours: edges that follow from what documents are made of: next, from a passage to the
-- one after it, and part_of, from a passage to its document; only what is asked for.
CREATE OR REPLACE FUNCTION pgblend._chunk_neighbours(
    nodes bigint[],
    ways boolean[],
    edge_types text[]
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
ROWS 100
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT n, o.id * 4 + 1, way, 'next', 1::real
    FROM unnest(nodes) AS n
    CROSS JOIN unnest(ways) AS way
    INNER JOIN pgblend_data.chunk AS c ON c.id = n >> 2
    INNER JOIN pgblend_data.chunk AS o
        ON o.document_id = c.document_id
        AND o.chunk_index = c.chunk_index + CASE WHEN way THEN -1 ELSE 1 END
    WHERE n & 3 = 1 AND 'next' = ANY(edge_types)
    UNION ALL
    SELECT n, c.document_id * 4, false, 'part_of', 1::real
    FROM unnest(nodes) AS n
    INNER JOIN pgblend_data.chunk AS c ON c.id = n >> 2
    WHERE n & 3 = 1 AND 'part_of' = ANY(edge_types) AND false = ANY(ways)
    UNION ALL
    SELECT n, c.id * 4 + 1, true, 'part_of', 1::real
    FROM unnest(nodes) AS n
    INNER JOIN pgblend_data.chunk AS c ON c.document_id = n >> 2
    WHERE n & 3 = 0 AND 'part_of' = ANY(edge_types) AND true = ANY(ways);
END;
$function$;
