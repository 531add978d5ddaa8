-- _prepare_collection: note the language of a collection that is about to follow a table.
-- By hand, since two writers that were the first with it would wait for each other.
CREATE OR REPLACE FUNCTION pgblend._prepare_collection(wanted pgblend_data.attached_table)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.collection_language (collection_id, text_search_config)
    SELECT c.id, c.text_search_config
    FROM pgblend_data.collection AS c
    WHERE c.id = wanted.collection_id
    ON CONFLICT DO NOTHING;
END;
$function$;
