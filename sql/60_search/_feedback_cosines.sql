-- _feedback_cosines: cosines of passages to a query vector that was moved towards other passages.
-- The moved vector is q/|q| + weight · mean(m/|m|) over `model_ids` (Rocchio's relevance feedback);
-- without a vector of theirs it is the query's own. A passage without a vector gives no row, and
-- neither does any without a space or a query vector; a zero vector has no cosine (NULL).
CREATE OR REPLACE FUNCTION pgblend._feedback_cosines(
    chunk_ids bigint[],
    model_ids bigint[],
    query_embedding vector,
    weight double precision,
    space pgblend_data.embedding_space
)
RETURNS TABLE (chunk_id bigint, cosine double precision)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 50
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF query_embedding IS NULL OR space.name IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'WITH moved AS MATERIALIZED (
            SELECT (l2_normalize($3) + coalesce(
                avg(l2_normalize(e.embedding::vector))
                    * array_fill($4::real, ARRAY[%2$s])::vector,
                array_fill(0::real, ARRAY[%2$s])::vector))::%1$s AS embedding
            FROM pgblend_data.%3$I AS e WHERE e.chunk_id = ANY($2)
        )
        SELECT e.chunk_id, nullif(1 - (e.embedding <=> m.embedding), ''NaN'')
        FROM pgblend_data.%3$I AS e CROSS JOIN moved AS m WHERE e.chunk_id = ANY($1)',
        space.vector_type, space.dimensions, space.table_name)
    USING chunk_ids, model_ids, query_embedding, weight;
END;
$function$;

COMMENT ON FUNCTION pgblend._feedback_cosines(
    bigint[], bigint[], vector, double precision, pgblend_data.embedding_space
) IS
'Cosines of passages to a query vector that was moved towards other passages (Rocchio''s relevance '
'feedback).';
