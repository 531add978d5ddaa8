-- add_links: say what a document cites, as data; returns how many links are new.
-- links: an array of {target, kind, type, weight, line, metadata}; kind key (the default) takes
-- target as a source key of the collection, name as a title, alias or name of a document, path,
-- wiki and uri as a text would write them. A link whose target is not there dangles until it
-- arrives. Links stay when the document's text is replaced, and die with the document. One that is
-- there with the same target, kind and type is replaced. A target that is not there yet is found
-- when it arrives.
CREATE OR REPLACE FUNCTION blend.add_links(collection text, source_key text, links jsonb)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    source bigint := pgblend._node_id(
        blend.graph_node(add_links.collection, add_links.source_key)) >> 2;
    replaced bigint;
BEGIN
    PERFORM pgblend._check_links(add_links.links);
    DELETE FROM pgblend_data.link AS l
    USING jsonb_array_elements(add_links.links) AS n
    WHERE l.document_id = source AND l.origin = 'data' AND l.target = n ->> 'target'
        AND l.kind = coalesce(n ->> 'kind', 'key')
        AND l.edge_type = coalesce(n ->> 'type', 'link');
    GET DIAGNOSTICS replaced = ROW_COUNT;
    RETURN pgblend._insert_links(
        (SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = source),
        array_fill(source, ARRAY[jsonb_array_length(add_links.links)]), add_links.links, 'data')
        - replaced;
END;
$function$;
