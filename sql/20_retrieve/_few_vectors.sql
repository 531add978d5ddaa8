-- _few_vectors: whether the caller sees at most `most` vectors of the collections in a space.
-- They are counted, no further than that.
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
    few boolean;
BEGIN
    EXECUTE format(
        'SELECT count(*) <= $2 FROM (
            SELECT FROM pgblend_data.%I AS e WHERE e.collection_id = ANY($1) LIMIT $2::bigint + 1
        ) AS counted', space.table_name)
    INTO few USING collection_ids, most;
    RETURN few;
END;
$function$;
