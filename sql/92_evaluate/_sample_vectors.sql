-- _sample_vectors: points halfway between two stored vectors of a space, for an audit.
-- A NULL space is the active one. The same ids give the same points. No space or no visible vectors
-- give an empty array; where there are fewer than 2 · sample_size, fewer points.
CREATE OR REPLACE FUNCTION pgblend._sample_vectors(
    collection_ids bigint[],
    sample_size integer,
    space text
)
RETURNS vector[]
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    sampled pgblend_data.embedding_space := pgblend._searched_space(space);
    sample vector[];
BEGIN
    IF sampled.name IS NOT NULL THEN
        -- Calls in text: none (a space's table).
        EXECUTE format(
            'SELECT array_agg(p.middle) FROM (
                SELECT l2_normalize(e.embedding::vector)
                    + l2_normalize(lead(e.embedding::vector) OVER (ORDER BY e.place)) AS middle,
                    e.place
                FROM (
                    SELECT s.embedding, row_number() OVER (
                        ORDER BY md5(s.chunk_id::text), s.chunk_id) AS place
                    FROM pgblend_data.%I AS s
                    WHERE s.collection_id = ANY($1) AND vector_norm(s.embedding::vector) > 0
                    ORDER BY md5(s.chunk_id::text), s.chunk_id LIMIT 2 * $2
                ) AS e
            ) AS p WHERE p.place %% 2 = 1 AND vector_norm(p.middle) > 0', sampled.table_name)
        INTO sample USING collection_ids, sample_size;
    END IF;
    RETURN coalesce(sample, '{}');
END;
$function$;
