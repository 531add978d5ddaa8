-- _clear_nodes: delete the edges of this shard that lead to nodes which are on none;
-- entities that they led from may be without an edge now.
CREATE OR REPLACE FUNCTION pgblend._clear_nodes(nodes jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    gone bigint[] := ARRAY(SELECT n::bigint FROM jsonb_array_elements_text(nodes) AS n);
    neighbours bigint[];
    own_collection bigint;
BEGIN
    WITH deleted AS (
        DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(gone)
        RETURNING e.neighbour, e.neighbour_collection_id
    )

    SELECT array_agg(DISTINCT d.neighbour), min(d.neighbour_collection_id)
    INTO neighbours, own_collection
    FROM deleted AS d;
    DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(neighbours) AND e.neighbour = ANY(gone);
    PERFORM pgblend._drop_lone_entities(neighbours, own_collection);
END;
$function$;
