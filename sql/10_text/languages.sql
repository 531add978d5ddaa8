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

-- _document_record_language: trigger that notes which text search configurations a collection uses.
-- Sessions that are the first with one note it each, and none waits for another. One that is noted
-- already is not checked again: it may have been dropped since.
CREATE OR REPLACE FUNCTION pgblend._document_record_language()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    INSERT INTO pgblend_data.collection_language (collection_id, text_search_config)
    SELECT DISTINCT n.collection_id, n.text_search_config
    FROM new_document AS n
    WHERE NOT EXISTS (
        SELECT FROM pgblend_data.collection_language AS l
        WHERE l.collection_id = n.collection_id AND l.text_search_config = n.text_search_config);
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_10_record_language AFTER INSERT ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_language();
CREATE OR REPLACE TRIGGER document_10_record_other_language AFTER UPDATE ON pgblend_data.document
REFERENCING NEW TABLE AS new_document
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._document_record_language();
