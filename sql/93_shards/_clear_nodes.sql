-- _clear_nodes: delete the edges of this shard that lead to nodes which are on none.
CREATE OR REPLACE FUNCTION pgblend._clear_nodes(nodes jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    gone bigint[] := ARRAY(SELECT n::bigint FROM jsonb_array_elements_text(nodes) AS n);
    neighbours bigint[];
BEGIN
    WITH deleted AS (
        DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(gone) RETURNING e.neighbour
    )

    SELECT array_agg(DISTINCT d.neighbour) INTO neighbours FROM deleted AS d;
    DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(neighbours) AND e.neighbour = ANY(gone);
END;
$function$;
