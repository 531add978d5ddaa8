-- graph_neighbors: the nodes within some steps of a node, nearest first.
-- The walk is breadth first: each node comes once, with its least depth and the heaviest edge that
-- leads there. It finds at most node_limit nodes, over the heaviest edges first; a WARNING says
-- that there are more. The node itself is no row. NULL gives no rows; an unknown node is an error.
-- The edge types next and part_of (of passages) come where they are named. Nodes are document:ID,
-- chunk:ID or entity:ID; direction is out, in or both; NULL edge_types are all.
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
AS $function$
DECLARE
    start bigint := pgblend._node_id(node);
    walk record;
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
    IF start IS NULL THEN
        RETURN;
    ELSIF NOT EXISTS (SELECT FROM pgblend._node_facts(ARRAY[start])) THEN
        RAISE EXCEPTION 'there is no node %', node
            USING ERRCODE = '42704',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    walk := pgblend._walk(ARRAY[start], depth, direction, edge_types, node_limit + 1);
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
