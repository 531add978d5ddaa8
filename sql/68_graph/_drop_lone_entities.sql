-- _drop_lone_entities: delete those of some nodes that are entities without an edge.
-- On a shard their edges may be on others: it notes them, for the coordinator to look at
-- (graph_change), under a collection that the caller writes to.
CREATE OR REPLACE FUNCTION pgblend._drop_lone_entities(nodes bigint[], collection_id bigint)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF EXISTS (SELECT FROM pgblend_data.shard_self) THEN
        INSERT INTO pgblend_data.graph_change (collection_id, node)
        SELECT DISTINCT _drop_lone_entities.collection_id, n FROM unnest(nodes) AS n WHERE n & 3 = 2;
        RETURN;
    END IF;
    DELETE FROM pgblend_data.entity AS t
    WHERE t.id IN (SELECT n >> 2 FROM unnest(nodes) AS n WHERE n & 3 = 2)
        AND NOT EXISTS (SELECT FROM pgblend_data.edge AS e WHERE e.node = t.id * 4 + 2);
END;
$function$;
