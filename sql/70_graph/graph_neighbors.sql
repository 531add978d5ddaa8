-- graph_neighbors: the nodes within some steps of a node, nearest first.
-- Breadth first over whole frontiers, so each node comes once, with its least depth and the
-- heaviest edge that leads there; circles do no harm. At most node_limit nodes, the heaviest edges
-- first, with a WARNING where there are more. The node itself is no row. NULL gives no rows; a node
-- that is not there is an error. Edge types next and part_of (of passages) come where they are
-- named. Nodes are document:ID, chunk:ID or entity:ID; direction is out, in or both; NULL
-- edge_types are all.
CREATE OR REPLACE FUNCTION blend.graph_neighbors(
    node text,
    depth integer DEFAULT 1,
    direction text DEFAULT 'both',
    edge_types text[] DEFAULT NULL,
    node_limit integer DEFAULT 1000
)
RETURNS TABLE (
    neighbour text,
    distance integer,
    via text,
    edge_type text,
    is_reverse boolean,
    weight real,
    kind text,
    document_id bigint,
    chunk_id bigint,
    entity_id bigint,
    collection text,
    source_key text,
    title text
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    start bigint := pgblend._node_id(graph_neighbors.node);
    walk record;
BEGIN
    PERFORM pgblend._check_graph_settings(depth, direction, edge_types, node_limit);
    IF start IS NULL THEN
        RETURN;
    ELSIF NOT EXISTS (SELECT FROM pgblend._node_facts(ARRAY[start])) THEN
        RAISE EXCEPTION 'there is no node %', graph_neighbors.node
            USING ERRCODE = '42704',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    walk := pgblend._walk(ARRAY[start], depth, direction, edge_types, node_limit + 1, 1);
    IF walk.is_cut THEN
        RAISE WARNING 'there are more than % nodes: those of the heaviest edges are shown',
            node_limit USING HINT = 'Raise node_limit, or name edge_types.';
    END IF;
    RETURN QUERY
    SELECT pgblend._node_name(w.found), w.distance, pgblend._node_name(w.via), w.edge_type,
        w.is_reverse, w.weight, f.kind, f.document_id, f.chunk_id, f.entity_id, o.name,
        f.source_key, f.title
    FROM unnest(walk.nodes, walk.depths, walk.via, walk.types, walk.reverses, walk.weights)
        WITH ORDINALITY AS w (found, distance, via, edge_type, is_reverse, weight, place)
    INNER JOIN pgblend._node_facts(walk.nodes) AS f ON f.node = w.found
    INNER JOIN pgblend_data.collection AS o ON o.id = f.collection_id
    WHERE w.found <> start
    ORDER BY w.place;
END;
$function$;
