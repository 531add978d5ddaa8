-- _node_drop_edges: trigger that deletes the edges of deleted chunks or documents, and entities
-- without an edge.
-- Edges that they told of go as well. Links to a deleted document dangle, or lead to another
-- document of the name.
CREATE OR REPLACE FUNCTION pgblend._node_drop_edges()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    are_chunks CONSTANT boolean := TG_TABLE_NAME = 'chunk';
    ids bigint[] := ARRAY(SELECT o.id FROM old_row AS o);
    nodes bigint[] := ARRAY(SELECT id * 4 + are_chunks::integer FROM unnest(ids) AS id);
    ends bigint[];
    neighbours bigint[];
    unled record;
BEGIN
    IF are_chunks THEN
        WITH gone AS (
            DELETE FROM pgblend_data.edge AS e
            WHERE e.chunk_id = ANY(ids) AND e.chunk_id <> 0 RETURNING e.node
        )

        SELECT array_agg(DISTINCT g.node) INTO ends FROM gone AS g;
    ELSE
        WITH gone AS (
            DELETE FROM pgblend_data.edge AS e
            WHERE e.document_id = ANY(ids) AND e.document_id <> 0 RETURNING e.node
        )

        SELECT array_agg(DISTINCT g.node) INTO ends FROM gone AS g;
        WITH dangling AS (
            UPDATE pgblend_data.link AS l SET target_document_id = NULL
            WHERE l.target_document_id = ANY(ids)
            RETURNING l.collection_id, l.name
        )

        SELECT array_agg(d.collection_id) AS collections, array_agg(d.name) AS names
        INTO unled
        FROM dangling AS d;
        PERFORM pgblend._resolve_links(l.collection_id, array_agg(DISTINCT l.name))
        FROM unnest(unled.collections, unled.names) AS l (collection_id, name)
        GROUP BY l.collection_id;
    END IF;
    WITH gone AS (
        DELETE FROM pgblend_data.edge AS e WHERE e.node = ANY(nodes)
        RETURNING e.neighbour
    )

    SELECT array_agg(DISTINCT g.neighbour) INTO neighbours FROM gone AS g;
    DELETE FROM pgblend_data.edge AS e
    WHERE e.node = ANY(neighbours) AND e.neighbour = ANY(nodes);
    PERFORM pgblend._drop_lone_entities(
        ends || neighbours, (SELECT min(o.collection_id) FROM old_row AS o));
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_80_drop_edges AFTER DELETE ON pgblend_data.chunk
REFERENCING OLD TABLE AS old_row
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._node_drop_edges();
CREATE OR REPLACE TRIGGER document_30_drop_edges AFTER DELETE ON pgblend_data.document
REFERENCING OLD TABLE AS old_row
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._node_drop_edges();

-- _document_clear_edges: trigger that empties the graph when documents are truncated.
CREATE OR REPLACE FUNCTION pgblend._document_clear_edges()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    TRUNCATE pgblend_data.edge, pgblend_data.entity;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_40_clear_edges AFTER TRUNCATE ON pgblend_data.document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_clear_edges();
