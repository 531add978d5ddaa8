-- _drop_edges: take edges away that touch some nodes, at both their ends, and entities that no edge
-- leads to any more.
CREATE OR REPLACE FUNCTION pgblend._drop_edges(nodes bigint[])
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    neighbours bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(nodes)
        RETURNING e.neighbour
    )

    SELECT array_agg(DISTINCT g.neighbour) INTO neighbours FROM gone AS g;
    IF neighbours IS NOT NULL THEN
        DELETE FROM pgblend_data.edge AS e
        WHERE e.node = ANY(neighbours) AND e.neighbour = ANY(nodes);
        PERFORM pgblend._drop_lone_entities(neighbours);
    END IF;
END;
$function$;
