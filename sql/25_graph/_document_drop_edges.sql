-- _document_drop_edges: trigger that takes deleted documents' edges away; links to them dangle, or
-- lead to another document of the name.
CREATE OR REPLACE FUNCTION pgblend._document_drop_edges()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    ids bigint[] := ARRAY(SELECT d.id FROM old_document AS d);
    nodes bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM pgblend_data.edge AS e WHERE e.document_id = ANY(ids) RETURNING e.node
    )

    SELECT array_agg(DISTINCT g.node) INTO nodes FROM gone AS g;
    PERFORM pgblend._drop_lone_entities(nodes);
    PERFORM pgblend._drop_edges(ARRAY(SELECT id * 4 FROM unnest(ids) AS id));
    PERFORM pgblend._resolve_links(l.collection_id, array_agg(DISTINCT l.name))
    FROM pgblend_data.link AS l
    WHERE l.target_document_id = ANY(ids)
    GROUP BY l.collection_id;
    RETURN NULL;
END;
$function$;
