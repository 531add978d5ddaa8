-- _few_vectors: whether the caller sees at most `most` vectors of the collections in a space.
-- The planner's row count answers for a small table; of a large one, vectors are counted where the
-- caller sees or asks for a part.
CREATE OR REPLACE FUNCTION pgblend._few_vectors(
    space pgblend_data.embedding_space,
    collection_ids bigint[],
    most integer
)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    embeddings regclass := format('pgblend_data.%I', space.table_name);
    few boolean;
BEGIN
    IF (SELECT c.reltuples BETWEEN 0 AND most FROM pg_catalog.pg_class AS c WHERE c.oid = embeddings)
    THEN
        RETURN true;
    ELSIF NOT row_security_active(embeddings) AND NOT EXISTS (
        SELECT FROM pgblend_data.collection AS c WHERE c.id <> ALL(collection_ids))
    THEN
        RETURN false;
    END IF;
    EXECUTE format(
        'SELECT count(*) <= $2 FROM (
            SELECT FROM pgblend_data.%I AS e WHERE e.collection_id = ANY($1) LIMIT $2::bigint + 1
        ) AS counted', space.table_name)
    INTO few USING collection_ids, most;
    RETURN few;
END;
$function$;

COMMENT ON FUNCTION pgblend._few_vectors(pgblend_data.embedding_space, bigint[], integer) IS
'Whether the caller sees at most so many vectors of the collections in a space.';
