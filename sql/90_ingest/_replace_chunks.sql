-- _replace_chunks: put chunks in place of those that a document has; chunk_index is the place in
-- the array.
-- NULL, what is no array and a wrong chunk are errors; an empty array leaves the document without
-- text.
CREATE OR REPLACE FUNCTION pgblend._replace_chunks(document_id bigint, chunks jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
BEGIN
    DELETE FROM pgblend_data.chunk AS c WHERE c.document_id = _replace_chunks.document_id;
    PERFORM pgblend._append_chunks(_replace_chunks.document_id, _replace_chunks.chunks);
END;
$function$;

COMMENT ON FUNCTION pgblend._replace_chunks(bigint, jsonb) IS
'Put chunks in place of those that a document has; chunk_index is the place in the array, from 0.';
