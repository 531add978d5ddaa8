-- _drop_lone_entities: delete those of some nodes that are entities without an edge.
CREATE OR REPLACE FUNCTION pgblend._drop_lone_entities(nodes bigint[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.entity AS t
    WHERE t.id IN (SELECT n >> 2 FROM unnest(nodes) AS n WHERE n & 3 = 2)
        AND NOT EXISTS (SELECT FROM pgblend_data.edge AS e WHERE e.node = t.id * 4 + 2);
END;
$function$;
