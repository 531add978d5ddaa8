-- _chunk_drop_edges: trigger that takes deleted chunks' edges away, and those that they told of.
CREATE OR REPLACE FUNCTION pgblend._chunk_drop_edges()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    ids bigint[] := ARRAY(SELECT c.id FROM old_chunk AS c);
    nodes bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM pgblend_data.edge AS e
        WHERE e.chunk_id = ANY(ids) AND e.chunk_id <> 0 RETURNING e.node
    )

    SELECT array_agg(DISTINCT g.node) INTO nodes FROM gone AS g;
    PERFORM pgblend._drop_lone_entities(nodes);
    PERFORM pgblend._drop_edges(ARRAY(SELECT id * 4 + 1 FROM unnest(ids) AS id));
    RETURN NULL;
END;
$function$;
