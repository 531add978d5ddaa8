-- graph_node: the node of a document, for the functions that take nodes.
-- An unknown document is an error.
CREATE OR REPLACE FUNCTION blend.graph_node(collection text, source_key text)
RETURNS text
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    found_id bigint := pgblend._document_id(ARRAY(
        SELECT c.id FROM pgblend_data.collection AS c WHERE c.name = normalize(collection)),
        source_key);
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

-- _node_name: a node as kind:id, from its number; NULL for NULL.
CREATE OR REPLACE FUNCTION pgblend._node_name(node bigint)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN (ARRAY['document', 'chunk', 'entity'])[(node & 3) + 1] || ':' || (node >> 2);

-- _node_facts: what nodes are: kind, document, chunk, entity, title; and which part of the store
-- they belong to.
-- A document without a title is called by its source key, a passage by its document and heading, or
-- by its place. One that is not there, or that the caller may not see, gives no row.
CREATE OR REPLACE FUNCTION pgblend._node_facts(nodes bigint[])
RETURNS TABLE (
    node bigint,
    kind text,
    document_id bigint,
    chunk_id bigint,
    entity_id bigint,
    collection_id bigint,
    bucket smallint,
    title text,
    source_key text
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 100
AS $function$
BEGIN
    RETURN QUERY
    SELECT n, 'document', d.id, NULL::bigint, NULL::bigint, d.collection_id, d.bucket,
        coalesce(nullif(d.title, ''), d.source_key), d.source_key
    FROM unnest(nodes) AS n
    INNER JOIN pgblend_data.document AS d ON d.id = n >> 2
    WHERE n & 3 = 0
    UNION ALL
    SELECT n, 'chunk', d.id, c.id, NULL, c.collection_id, c.bucket,
        coalesce(nullif(d.title, ''), d.source_key) || ': '
            || coalesce(nullif(c.heading, ''), 'passage ' || c.chunk_index + 1),
        d.source_key
    FROM unnest(nodes) AS n
    INNER JOIN pgblend_data.chunk AS c ON c.id = n >> 2
    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    WHERE n & 3 = 1
    UNION ALL
    SELECT n, 'entity', NULL, NULL, t.id, t.collection_id, t.bucket, t.name, NULL
    FROM unnest(nodes) AS n
    INNER JOIN pgblend_data.entity AS t ON t.id = n >> 2
    WHERE n & 3 = 2;
END;
$function$;

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
