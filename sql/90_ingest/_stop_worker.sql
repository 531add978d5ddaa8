-- _stop_worker: give back what this session's worker claimed, and let its session be another's.
CREATE OR REPLACE FUNCTION pgblend._stop_worker(worker integer)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    PERFORM pgblend._release_embeddings(worker);
    PERFORM pg_advisory_unlock(w.life_lock)
    FROM pgblend_data.embedding_worker AS w
    WHERE w.id = _stop_worker.worker;
END;
$function$;
