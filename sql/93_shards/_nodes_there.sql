-- _nodes_there: those of some nodes that are on this shard.
CREATE OR REPLACE FUNCTION pgblend._nodes_there(nodes jsonb)
RETURNS SETOF bigint
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT f.node FROM pgblend._node_facts(ARRAY(
        SELECT n::bigint FROM jsonb_array_elements_text(nodes) AS n)) AS f;
END;
$function$;
