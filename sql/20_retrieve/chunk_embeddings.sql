-- chunk_embeddings: the stored vectors of chunks, in the active embedding space.
-- A chunk without a vector, or that the caller may not see, gives no row; NULL, and no space, none.
CREATE OR REPLACE FUNCTION pgblend.chunk_embeddings(chunk_ids bigint[])
RETURNS TABLE (chunk_id bigint, embedding vector)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 50
SET search_path FROM CURRENT
AS $function$
DECLARE
    space pgblend_data.embedding_space := pgblend._active_space();
BEGIN
    IF space.name IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT e.chunk_id, e.embedding::vector FROM pgblend_data.%I AS e
        WHERE e.chunk_id = ANY($1)', space.table_name)
    USING chunk_ids;
END;
$function$;

COMMENT ON FUNCTION pgblend.chunk_embeddings(bigint[]) IS
'The stored vectors of chunks, in the active embedding space; a chunk without one gives no row.';
