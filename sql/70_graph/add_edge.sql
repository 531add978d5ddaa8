-- add_edge: join two nodes by an edge; true where it is new, false where weight and metadata of one
-- that is there were set.
-- The edge dies with either node, and stays when a document's text is replaced. The caller must be
-- allowed to write to the collections of both. An unknown node, a loop, a weight outside 0 to
-- 1,000,000 and metadata that is no object are errors. Nodes are document:ID, chunk:ID or
-- entity:ID.
CREATE OR REPLACE FUNCTION blend.add_edge(
    source text,
    target text,
    edge_type text DEFAULT 'link',
    weight real DEFAULT 1,
    metadata jsonb DEFAULT '{}'
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    source_node bigint := pgblend._node_id(add_edge.source);
    target_node bigint := pgblend._node_id(add_edge.target);
    is_new boolean;
BEGIN
    PERFORM pgblend._check_edge(source_node, target_node, edge_type, weight, metadata);
    WITH stored AS (
        INSERT INTO pgblend_data.edge AS e (
            node, is_reverse, neighbour, edge_type, origin, collection_id,
            neighbour_collection_id, bucket, weight, metadata)
        SELECT own.node, way.is_reverse, other.node, add_edge.edge_type, 'hand',
            own.collection_id, other.collection_id, own.bucket, add_edge.weight,
            add_edge.metadata
        FROM (VALUES (false, source_node, target_node), (true, target_node, source_node))
            AS way (is_reverse, node, neighbour)
        INNER JOIN pgblend._node_facts(ARRAY[source_node, target_node]) AS own
            ON own.node = way.node
        INNER JOIN pgblend._node_facts(ARRAY[source_node, target_node]) AS other
            ON other.node = way.neighbour
        ON CONFLICT ON CONSTRAINT edge_pkey
        DO UPDATE SET weight = excluded.weight, metadata = excluded.metadata
        RETURNING e.xmax = 0 AS is_new
    )

    SELECT bool_and(s.is_new) INTO is_new FROM stored AS s;
    RETURN is_new;
END;
$function$;
