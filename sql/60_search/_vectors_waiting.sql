-- _vectors_waiting: whether some passages of the collections still need a vector in the space.
CREATE OR REPLACE FUNCTION pgblend._vectors_waiting(space text, collection_ids bigint[])
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN EXISTS (
        SELECT FROM pgblend_data.embedding_queue AS q
        WHERE q.space = _vectors_waiting.space AND q.collection_id = ANY(collection_ids));
END;
$function$;
