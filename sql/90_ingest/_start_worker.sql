-- _start_worker: register this session as an embedding worker; returns its id.
-- The session holds the worker's advisory lock until it ends, which frees all that it claimed. A
-- host that vanishes is noticed within two minutes. The caller's workers that ended a week ago are
-- forgotten, those of others by an admin.
CREATE OR REPLACE FUNCTION pgblend._start_worker(host text, process integer)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    worker integer;
BEGIN
    DELETE FROM pgblend_data.embedding_worker AS w
    WHERE w.seen_at < now() - interval '7 days'
        AND w.id <> ALL((SELECT pgblend._live_workers())::integer[]);
    INSERT INTO pgblend_data.embedding_worker (host, process) VALUES (host, process)
    RETURNING id INTO worker;
    PERFORM pg_advisory_lock(pgblend._worker_lock(), worker);
    PERFORM set_config('tcp_keepalives_idle', '60', false),
        set_config('tcp_keepalives_interval', '15', false),
        set_config('tcp_keepalives_count', '4', false);
    RETURN worker;
END;
$function$;

COMMENT ON FUNCTION pgblend._start_worker(text, integer) IS
'Register this session as an embedding worker, which lives as long as the session; returns its id.';
