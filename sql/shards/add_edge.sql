-- add_edge: join two nodes of one shard by an edge, as one node does; nodes of different shards are
-- an error.
-- Each end of an edge keeps a row of it, and goes with its own document: no shard would learn that
-- the other end is gone.
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
BEGIN
    RETURN (
        SELECT bool_or((a.answer #>> '{}')::boolean)
        FROM pgblend._on_shards('blend.add_edge', jsonb_build_object(
            'source', source, 'target', target, 'edge_type', edge_type, 'weight', weight,
            'metadata', metadata::text)) AS a (answer));
EXCEPTION WHEN undefined_object THEN
    IF (SELECT count(*) FROM pgblend._node_facts(
        ARRAY[pgblend._node_id(source), pgblend._node_id(target)])) < 2
    THEN
        RAISE;
    END IF;
    RAISE EXCEPTION '% and % are on different shards: an edge joins nodes of one', source, target
        USING ERRCODE = '0A000', HINT = 'docs/shards.md says what the graph of shards lacks.';
END;
$function$;
