-- _node_id: the number of a node: four times the id, plus 0 for a document, 1 for a chunk, 2 for an
-- entity; NULL for NULL. Anything but kind:id is an error.
CREATE OR REPLACE FUNCTION pgblend._node_id(node text)
RETURNS bigint
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    IF node !~ '^(document|chunk|entity):[0-9]{1,18}$' THEN
        RAISE EXCEPTION 'node is "%": expected document:ID, chunk:ID or entity:ID',
            left(node, 200)
            USING ERRCODE = '22023',
            HINT = 'graph_node(collection, source_key) gives the node of a document.';
    END IF;
    RETURN split_part(node, ':', 2)::bigint * 4
        + array_position(ARRAY['document', 'chunk', 'entity'], split_part(node, ':', 1)) - 1;
END;
$function$;
