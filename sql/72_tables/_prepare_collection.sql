-- _prepare_collection: note the language of a collection that is about to follow a table.
-- By hand, since it is there before its first document.
CREATE OR REPLACE FUNCTION pgblend._prepare_collection(wanted pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.collection_language (collection_id, text_search_config)
    SELECT c.id, c.text_search_config
    FROM pgblend_data.collection AS c
    WHERE c.id = wanted.collection_id AND NOT EXISTS (
        SELECT FROM pgblend_data.collection_language AS l
        WHERE l.collection_id = c.id AND l.text_search_config = c.text_search_config);
END;
$function$;
