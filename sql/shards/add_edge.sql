-- add_edge: join two nodes by an edge, as one node does, of whatever shards they are.
-- Both rows of an edge are with its source: where the other end is on another shard, its shard
-- tells the coordinator when it goes (graph_change).
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
    arguments jsonb := jsonb_build_object(
        'source', source, 'target', target, 'edge_type', edge_type, 'weight', weight,
        'metadata', metadata::text);
    ends bigint[];
    target_collection text;
    is_new boolean;
BEGIN
    RETURN (
        SELECT bool_or((a.answer #>> '{}')::boolean)
        FROM pgblend._on_shards('blend.add_edge', arguments) AS a (answer));
EXCEPTION WHEN undefined_object THEN
    ends := ARRAY[pgblend._node_id(source), pgblend._node_id(target)];
    IF (SELECT count(*) FROM pgblend._node_facts(ends)) < 2 THEN
        RAISE;
    END IF;
    SELECT max(c.name) FILTER (WHERE f.node = ends[2]) INTO target_collection
    FROM pgblend._node_facts(ends) AS f
    INNER JOIN pgblend_data.collection AS c ON c.id = f.collection_id
    CROSS JOIN LATERAL pgblend._writable_collection(c.name);
    SELECT bool_or((a.answer #>> '{}')::boolean) INTO is_new
    FROM pgblend._on_shards('pgblend._add_far_edge', arguments || jsonb_build_object(
        'target_collection', target_collection)) AS a (answer);
    -- It may have gone before the edge was there for the worker to clear.
    IF (SELECT count(*) FROM pgblend._node_facts(ends)) < 2 THEN
        PERFORM blend.delete_edge(source, target, edge_type);
        RAISE;
    END IF;
    RETURN is_new;
END;
$function$;
