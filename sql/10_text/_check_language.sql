-- _check_language: trigger that refuses a text search configuration that does not exist.
CREATE OR REPLACE FUNCTION pgblend._check_language()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._check_text_search_config(NEW.text_search_config);
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE TRIGGER collection_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.collection
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();
CREATE OR REPLACE TRIGGER collection_language_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.collection_language
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();
CREATE OR REPLACE TRIGGER document_05_check_language
BEFORE INSERT OR UPDATE OF text_search_config ON pgblend_data.document
FOR EACH ROW EXECUTE FUNCTION pgblend._check_language();
