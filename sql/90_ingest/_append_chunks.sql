-- _append_chunks: add chunks to those that a document has; returns how many.
-- chunk_index continues after the highest. NULL, what is no array and a wrong chunk are errors; an
-- empty array adds nothing.
CREATE OR REPLACE FUNCTION pgblend._append_chunks(document_id bigint, chunks jsonb)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    PERFORM pgblend._check_chunks(ARRAY[chunks]);
    RETURN pgblend._insert_chunks(ARRAY[document_id], ARRAY[chunks]);
END;
$function$;
