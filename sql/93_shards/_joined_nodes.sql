-- _joined_nodes: those of some nodes that have an edge on this shard.
CREATE OR REPLACE FUNCTION pgblend._joined_nodes(nodes jsonb)
RETURNS SETOF bigint
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT n::bigint FROM jsonb_array_elements_text(nodes) AS n
    WHERE EXISTS (SELECT FROM pgblend_data.edge AS e WHERE e.node = n::bigint);
END;
$function$;
