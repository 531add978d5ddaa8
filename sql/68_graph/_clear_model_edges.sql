-- _clear_model_edges: delete edges that a model of another version found in a collection; returns
-- their ends, NULL where there were none.
CREATE OR REPLACE FUNCTION pgblend._clear_model_edges(collection_id bigint, version text)
RETURNS bigint[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    nodes bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM pgblend_data.edge AS e
        WHERE e.collection_id = _clear_model_edges.collection_id AND e.origin = 'model'
            AND e.metadata ->> 'version' IS DISTINCT FROM _clear_model_edges.version
        RETURNING e.node
    )

    SELECT array_agg(DISTINCT g.node) INTO nodes FROM gone AS g;
    RETURN nodes;
END;
$function$;
