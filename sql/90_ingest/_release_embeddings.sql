-- _release_embeddings: give back what a worker claimed and did not do; returns how many chunks.
CREATE OR REPLACE FUNCTION pgblend._release_embeddings(worker integer)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    released bigint;
BEGIN
    UPDATE pgblend_data.embedding_queue AS q
    SET worker = NULL
    WHERE q.worker = _release_embeddings.worker;
    GET DIAGNOSTICS released = ROW_COUNT;
    RETURN released;
END;
$function$;
