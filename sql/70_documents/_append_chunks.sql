-- _append_chunks: add chunks to those that a document has; returns how many.
-- chunk_index continues after the highest. NULL and an empty array add nothing.
CREATE OR REPLACE FUNCTION pgblend._append_chunks(
    document_id bigint,
    chunks pgblend_data.given_chunk[]
)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN pgblend._insert_chunks(ARRAY[document_id], chunks, (
        SELECT coalesce(max(c.chunk_index) + 1, 0) FROM pgblend_data.chunk AS c
        WHERE c.document_id = _append_chunks.document_id));
END;
$function$;
