-- delete_edge: delete the edges between two nodes that were added by hand or from data; returns how
-- many.
-- NULL edge_type is all types. What a text says stays: it would come back with the next ingest.
CREATE OR REPLACE FUNCTION blend.delete_edge(
    source text,
    target text,
    edge_type text DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    source_node bigint := pgblend._node_id(source);
    target_node bigint := pgblend._node_id(target);
    deleted bigint;
BEGIN
    DELETE FROM pgblend_data.link AS l
    WHERE source_node & 3 = 0 AND target_node & 3 = 0
        AND l.document_id = source_node >> 2 AND l.target_document_id = target_node >> 2
        AND l.origin = 'data'
        AND l.edge_type = coalesce(delete_edge.edge_type, l.edge_type);
    DELETE FROM pgblend_data.edge AS e
    WHERE e.node = target_node AND e.is_reverse AND e.neighbour = source_node
        AND e.origin IN ('data', 'hand')
        AND e.edge_type = coalesce(delete_edge.edge_type, e.edge_type);
    DELETE FROM pgblend_data.edge AS e
    WHERE e.node = source_node AND NOT e.is_reverse AND e.neighbour = target_node
        AND e.origin IN ('data', 'hand')
        AND e.edge_type = coalesce(delete_edge.edge_type, e.edge_type);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END;
$function$;
