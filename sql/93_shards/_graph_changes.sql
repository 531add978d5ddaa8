-- _graph_changes: some of what changed on this shard that edges of other shards hang on.
CREATE OR REPLACE FUNCTION pgblend._graph_changes(most integer)
RETURNS TABLE (id bigint, collection_id bigint, name text, node bigint, source_key text)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT c.id, c.collection_id, c.name, c.node, c.source_key
    FROM pgblend_data.graph_change AS c
    LIMIT most;
END;
$function$;
