-- _replace_links: put links in place of those that a document's text had; returns how many.
CREATE OR REPLACE FUNCTION pgblend._replace_links(document_id bigint, links jsonb)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    targets bigint[];
    stored bigint := 0;
BEGIN
    PERFORM pgblend._check_links(links);
    WITH gone AS (
        DELETE FROM pgblend_data.link AS l
        WHERE l.document_id = _replace_links.document_id AND l.origin = 'text'
        RETURNING l.target_document_id
    )

    SELECT array_agg(DISTINCT g.target_document_id) INTO targets
    FROM gone AS g WHERE g.target_document_id IS NOT NULL;
    IF targets IS NOT NULL THEN
        PERFORM pgblend._link_edges(ARRAY[_replace_links.document_id], targets);
    END IF;
    IF links <> '[]' THEN
        SELECT pgblend._insert_links(
            d.collection_id, array_fill(d.id, ARRAY[jsonb_array_length(links)]), links, 'text')
        INTO stored
        FROM pgblend_data.document AS d WHERE d.id = _replace_links.document_id;
    END IF;
    RETURN stored;
END;
$function$;

COMMENT ON FUNCTION pgblend._replace_links(bigint, jsonb) IS
'Put links in place of those that a document''s text had; returns how many.';
