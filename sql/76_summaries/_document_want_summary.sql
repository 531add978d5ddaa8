-- _document_want_summary: trigger that lets a new text wait for a summary, where its collection has
-- summaries.
-- Elsewhere a summary that was there goes: it is of another text.
CREATE OR REPLACE FUNCTION pgblend._document_want_summary()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF TG_OP = 'UPDATE' AND new.content_hash = old.content_hash THEN
        RETURN NULL;
    ELSIF coalesce(  -- that setting alone, since each document that is written asks
        (SELECT c.settings -> 'summaries' FROM pgblend_data.collection AS c
            WHERE c.id = new.collection_id),
        (SELECT s.value FROM pgblend_data.setting AS s WHERE s.name = 'summaries'),
        'false')::boolean
    THEN
        PERFORM pgblend._want_summaries(ARRAY[new.id], true);
    ELSIF TG_OP = 'UPDATE' THEN
        DELETE FROM pgblend_data.document_summary AS m WHERE m.document_id = new.id;
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER document_50_want_summary AFTER INSERT OR UPDATE ON pgblend_data.document
FOR EACH ROW EXECUTE FUNCTION pgblend._document_want_summary();
