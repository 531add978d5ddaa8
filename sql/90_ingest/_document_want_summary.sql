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
    ELSIF pgblend._has_summaries(new.collection_id) THEN
        PERFORM pgblend._want_summaries(ARRAY[new.id], true);
    ELSIF TG_OP = 'UPDATE' THEN
        DELETE FROM pgblend_data.document_summary AS m WHERE m.document_id = new.id;
    END IF;
    RETURN NULL;
END;
$function$;
