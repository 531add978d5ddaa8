-- set_summary: give a document a summary of one's own, in place of a model's; false where there is
-- no such document.
-- NULL and an empty one take it away. Chunks whose text to embed it changes wait for a new vector.
CREATE OR REPLACE FUNCTION blend.set_summary(document_id bigint, summary text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN pgblend._store_summary(document_id, NULL, coalesce(btrim(summary), ''), NULL);
END;
$function$;
