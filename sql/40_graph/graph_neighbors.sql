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
    start bigint := pgblend._walk_start(node, depth, direction, edge_types, node_limit);
    walk record;
BEGIN
    IF start IS NULL THEN
        RETURN;
    END IF;
    walk := pgblend._walk(ARRAY[start], depth, direction, edge_types, node_limit + 1);
    IF walk.is_cut THEN
        RAISE WARNING 'there are more than % nodes: those of the heaviest edges are shown',
            node_limit USING HINT = 'Raise node_limit, or name edge_types.';
    END IF;
    RETURN QUERY SELECT s.* FROM pgblend._steps_of(
        start, walk.nodes, walk.depths, walk.via, walk.reverses, walk.types, walk.weights) AS s;
END;
$function$;

-- _walk_start: the node that graph_neighbors starts at, once its arguments are checked; NULL for a
-- NULL node.
CREATE OR REPLACE FUNCTION pgblend._walk_start(
    node text,
    depth integer,
    direction text,
    edge_types text[],
    node_limit integer
)
RETURNS bigint
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    start bigint := pgblend._node_id(node);
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
    IF start IS NOT NULL AND NOT EXISTS (
        SELECT FROM pgblend._node_facts(ARRAY[start]))
    THEN
        RAISE EXCEPTION 'there is no node %', node
            USING ERRCODE = '42704',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    RETURN start;
END;
$function$;

-- _steps_of: the rows of graph_neighbors, of what a walk found.
CREATE OR REPLACE FUNCTION pgblend._steps_of(
    start bigint,
    nodes bigint[],
    depths integer[],
    ways bigint[],
    reverses boolean[],
    types text[],
    weights real[]
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
BEGIN
    RETURN QUERY
    SELECT pgblend._node_name(w.found), w.distance, pgblend._node_name(w.via), w.edge_type,
        w.is_reverse, w.weight, f.kind, f.document_id, f.chunk_id, f.entity_id, o.name,
        f.source_key, f.title
    FROM unnest(nodes, depths, ways, types, reverses, weights)
        WITH ORDINALITY AS w (found, distance, via, edge_type, is_reverse, weight, place)
    INNER JOIN pgblend._node_facts(nodes) AS f ON f.node = w.found
    INNER JOIN pgblend_data.collection AS o ON o.id = f.collection_id
    WHERE w.found <> start
    ORDER BY w.place;
END;
$function$;

-- _walk: nodes within some steps of seeds, each with its depth and the edge that led there.
-- A seed has depth 0 and no edge. At most node_limit nodes are found, over the heaviest edges
-- first. A step reads at most max(4 node_limit, 4000) edges; `is_cut` says that there would have
-- been more. Ties go by the node's number. See plpy/graph/walk.py.
CREATE OR REPLACE FUNCTION pgblend._walk(
    seeds bigint[],
    depth integer,
    direction text,
    edge_types text[],
    node_limit integer,
    OUT nodes bigint[],
    OUT depths integer[],
    OUT via bigint[],
    OUT reverses boolean[],
    OUT types text[],
    OUT weights real[],
    OUT is_cut boolean
)
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.candidates import StoredPassages

return StoredPassages(StoreNode(db)).walk(seeds, 1, {
    "depth": depth, "direction": direction, "edge_types": edge_types, "node_limit": node_limit
}).columns
$python$;

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

-- _has_edges: whether there is an edge that the caller may see.
CREATE OR REPLACE FUNCTION pgblend._has_edges()
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM pgblend_data.edge);
