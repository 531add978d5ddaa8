-- _sampled_vectors: vectors of a space that are none of zeros, at most so many, as texts: those
-- whose chunks' ids have the least digests.
CREATE OR REPLACE FUNCTION pgblend._sampled_vectors(
    collection_ids bigint[],
    most integer,
    space text
)
RETURNS TABLE (chunk_id bigint, digest text, embedding text)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 100
AS $function$
BEGIN
    -- Calls in text: none (a space's table).
    RETURN QUERY EXECUTE format(
        'SELECT s.chunk_id, md5(s.chunk_id::text), s.embedding::vector::text
        FROM pgblend_data.%I AS s
        WHERE s.collection_id = ANY($1) AND vector_norm(s.embedding::vector) > 0
        ORDER BY md5(s.chunk_id::text) COLLATE "C", s.chunk_id LIMIT $2',
        (pgblend._searched_space(space)).table_name)
    USING collection_ids, most;
END;
$function$;
