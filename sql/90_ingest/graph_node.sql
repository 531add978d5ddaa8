-- graph_node: the node of a document, for the functions that take nodes.
-- An unknown document is an error.
CREATE OR REPLACE FUNCTION pgblend.graph_node(collection text, source_key text)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    target pgblend_data.collection := pgblend._named_collection(graph_node.collection);
    found_id bigint;
BEGIN
    SELECT d.id INTO found_id FROM pgblend_data.document AS d
    WHERE d.collection_id = target.id AND d.source_key = graph_node.source_key;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'there is no document % in collection "%"',
            coalesce('"' || left(graph_node.source_key, 200) || '"', 'NULL'), target.name
            USING ERRCODE = '42704',
            HINT = 'SELECT collection, source_key FROM pgblend.documents';
    END IF;
    RETURN pgblend._node_name(found_id * 4);
END;
$function$;

COMMENT ON FUNCTION pgblend.graph_node(text, text) IS
'The node of a document (document:ID), for the functions that take nodes.';
