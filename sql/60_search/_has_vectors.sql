-- _has_vectors: whether any visible passage of the collections has a vector in the space.
CREATE OR REPLACE FUNCTION pgblend._has_vectors(
    space pgblend_data.embedding_space,
    collection_ids bigint[]
)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    found_any boolean;
BEGIN
    EXECUTE format(
        'SELECT EXISTS (SELECT FROM pgblend_data.%I AS e WHERE e.collection_id = ANY($1))',
        space.table_name)
    INTO found_any USING collection_ids;
    RETURN found_any;
END;
$function$;
