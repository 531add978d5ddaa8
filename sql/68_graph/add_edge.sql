-- add_edge: join two nodes by an edge; true where it is new, false where the stored edge got weight
-- and metadata.
-- The edge goes with either node and stays when a document's text is replaced. The caller must be
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
AS $function$
DECLARE
    source_node bigint := pgblend._node_id(source);
    target_node bigint := pgblend._node_id(target);
    missing bigint;
BEGIN
    IF source_node IS NULL OR target_node IS NULL OR source_node = target_node THEN
        RAISE EXCEPTION 'an edge from % to %: expected two different nodes',
            coalesce(pgblend._node_name(source_node), 'NULL'),
            coalesce(pgblend._node_name(target_node), 'NULL')
            USING ERRCODE = '22023',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    ELSIF coalesce(edge_type, '') = '' OR octet_length(edge_type) > 200 THEN
        RAISE EXCEPTION 'edge_type is %: expected a text of 1 to 200 bytes',
            coalesce('"' || left(edge_type, 100) || '"', 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: cites';
    ELSIF weight IS NULL OR weight NOT BETWEEN 0 AND 1000000 THEN
        RAISE EXCEPTION 'weight is %: expected a number from 0 to 1000000',
            coalesce(weight::text, 'NULL')
            USING ERRCODE = '22023', HINT = 'The default is 1.';
    ELSIF jsonb_typeof(metadata) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'metadata is %: expected a JSON object',
            coalesce(left(metadata::text, 200), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: {"page": 3}';
    END IF;
    SELECT n INTO missing FROM unnest(ARRAY[source_node, target_node]) AS n
    WHERE NOT EXISTS (SELECT FROM pgblend._node_facts(ARRAY[n]));
    IF FOUND THEN
        RAISE EXCEPTION 'there is no node %', pgblend._node_name(missing)
            USING ERRCODE = '42704',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    PERFORM pgblend._writable_collection(c.name)
    FROM pgblend._node_facts(ARRAY[source_node, target_node]) AS f
    INNER JOIN pgblend_data.collection AS c ON c.id = f.collection_id;
    RETURN pgblend._store_edges(ARRAY[ROW(
        source_node, false, target_node, edge_type, 'hand', 0, 0, NULL, NULL, NULL, weight,
        metadata)::pgblend_data.edge]) > 0;
END;
$function$;
