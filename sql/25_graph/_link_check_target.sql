-- _link_check_target: trigger that refuses links to documents of another collection.
-- Definer, and in the same words for what is hidden and what is not there, as _edge_check_ends.
CREATE OR REPLACE FUNCTION pgblend._link_check_target()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    stray bigint;
BEGIN
    SELECT n.id INTO stray
    FROM (
        SELECT DISTINCT l.target_document_id AS id, l.collection_id
        FROM new_link AS l
        WHERE l.target_document_id IS NOT NULL
    ) AS n
    WHERE n.collection_id IS DISTINCT FROM (
        SELECT d.collection_id FROM pgblend_data.document AS d WHERE d.id = n.id)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a link leads to a document that is not of its collection'
            USING ERRCODE = '42501', DETAIL = format('It leads to document:%s.', stray),
            HINT = 'add_links(collection, source_key, links) stores links of a document.';
    END IF;
    RETURN NULL;
END;
$function$;
