-- _cosines: exact cosine of passages to a query vector; a passage without a vector gives no row.
-- No space or a NULL vector gives no rows; a zero vector has no cosine (NULL).
CREATE OR REPLACE FUNCTION pgblend._cosines(
    chunk_ids bigint[],
    query_embedding vector,
    space pgblend_data.embedding_space
)
RETURNS TABLE (chunk_id bigint, cosine double precision)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 10
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF query_embedding IS NULL OR space.name IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT e.chunk_id, nullif(1 - (e.embedding <=> $2::%1$s), ''NaN'')
        FROM pgblend_data.%2$I AS e WHERE e.chunk_id = ANY($1)',
        format('%I(%s)', space.storage, space.dimensions), space.table_name)
    USING chunk_ids, query_embedding;
END;
$function$;

COMMENT ON FUNCTION pgblend._cosines(bigint[], vector, pgblend_data.embedding_space) IS
'Exact cosine of passages to a query vector; a passage without a vector gives no row.';
