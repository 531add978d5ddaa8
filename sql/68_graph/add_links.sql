-- add_links: state what a document cites; returns how many links are new.
-- links is an array of {target, kind, type, weight, line, metadata}. kind says what target is: key
-- (the default) a source key of the collection, name a title, alias or name of a document, path,
-- wiki and uri a link as texts write it. A link whose target is not stored yet dangles until it
-- arrives. Links stay when the document's text is replaced, and go with the document. A link with
-- the same target, kind and type is replaced.
CREATE OR REPLACE FUNCTION blend.add_links(collection text, source_key text, links jsonb)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    source bigint := pgblend._node_id(blend.graph_node(collection, source_key)) >> 2;
    replaced bigint;
BEGIN
    DELETE FROM pgblend_data.link AS l
    USING jsonb_path_query(links, '$[*]') AS n
    WHERE l.document_id = source AND l.origin = 'data' AND l.target = n ->> 'target'
        AND l.kind = coalesce(n ->> 'kind', 'key')
        AND l.edge_type = coalesce(n ->> 'type', 'link');
    GET DIAGNOSTICS replaced = ROW_COUNT;
    RETURN pgblend._insert_links(
        (SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = source),
        ARRAY[source], ARRAY[links], 'data') - replaced;
END;
$function$;
