-- graph_node: the node of a document, for the functions that take nodes.
-- An unknown document is an error.
CREATE OR REPLACE FUNCTION blend.graph_node(collection text, source_key text)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found_id bigint := (
        SELECT pgblend._document_id(c.id, graph_node.source_key) FROM pgblend_data.collection AS c
        WHERE c.name = collection);
BEGIN
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no document % in a collection % that % may read',
            coalesce('"' || left(source_key, 200) || '"', 'NULL'),
            coalesce('"' || left(collection, 200) || '"', 'NULL'), current_user
            USING ERRCODE = '42704',
            HINT = 'SELECT collection, source_key FROM blend.documents';
    END IF;
    RETURN pgblend._node_name(found_id * 4);
END;
$function$;
