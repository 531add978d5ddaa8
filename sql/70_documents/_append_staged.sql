-- _append_staged: add the staged chunks of a place (_staged_chunks) to those that a document has;
-- returns how many.
-- chunk_index continues after the highest.
CREATE OR REPLACE FUNCTION pgblend._append_staged(document_id bigint, place integer)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN pgblend._insert_chunks(
        ARRAY[document_id], pgblend._staged_chunks(ARRAY[place]), (
            SELECT coalesce(max(c.chunk_index) + 1, 0) FROM pgblend_data.chunk AS c
            WHERE c.document_id = _append_staged.document_id));
END;
$function$;
