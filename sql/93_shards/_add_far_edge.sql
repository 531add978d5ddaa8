-- _add_far_edge: add_edge from a node of this shard to one of another, by the collection of that;
-- an error where the source is not here.
-- Both rows are stored here: a walk asks all shards, and the edge comes and goes at once.
CREATE OR REPLACE FUNCTION pgblend._add_far_edge(
    source text,
    target text,
    target_collection text,
    edge_type text,
    weight real,
    metadata jsonb
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    own record;
BEGIN
    SELECT f.* INTO own FROM pgblend._node_facts(ARRAY[pgblend._node_id(source)]) AS f;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no node %', source
            USING ERRCODE = '42704',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    RETURN pgblend._store_edges(ARRAY[ROW(
        own.node, false, pgblend._node_id(target), edge_type, 'hand', 0, 0, own.collection_id,
        (pgblend._writable_collection(target_collection)).id, own.bucket, weight,
        metadata)::pgblend_data.edge]) > 0;
END;
$function$;
