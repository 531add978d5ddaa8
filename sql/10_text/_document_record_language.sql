-- _document_record_language: trigger that notes which text search configurations a collection uses.
CREATE OR REPLACE FUNCTION pgblend._document_record_language()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.text_search_config <> OLD.text_search_config THEN
        INSERT INTO pgblend_data.collection_language (collection_id, text_search_config)
        VALUES (NEW.collection_id, NEW.text_search_config)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END;
$function$;

COMMENT ON FUNCTION pgblend._document_record_language() IS
'Trigger that notes which text search configurations a collection uses.';
