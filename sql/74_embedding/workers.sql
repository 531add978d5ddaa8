-- _start_worker: register this session as an embedding worker; returns its id.
-- The session holds an advisory lock until it ends, which frees all that it claimed. Its key is
-- made at random with the row, so that nobody can hold it before, and counts for this process
-- alone. A host that vanishes is noticed within two minutes. The caller's workers that ended a week
-- ago are forgotten, those whose rows somebody locks later, those of others by an admin.
CREATE OR REPLACE FUNCTION pgblend._start_worker(host text, process integer)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    worker pgblend_data.embedding_worker;
BEGIN
    DELETE FROM pgblend_data.embedding_worker AS w
    WHERE w.id IN (
        SELECT o.id FROM pgblend_data.embedding_worker AS o
        WHERE o.seen_at < now() - interval '7 days'
            AND o.id <> ALL((SELECT pgblend._live_workers())::integer[])
        FOR UPDATE SKIP LOCKED);
    INSERT INTO pgblend_data.embedding_worker (host, process) VALUES (host, process)
    RETURNING * INTO worker;
    PERFORM pg_try_advisory_lock(worker.life_lock);
    PERFORM set_config('tcp_keepalives_idle', '60', false),
        set_config('tcp_keepalives_interval', '15', false),
        set_config('tcp_keepalives_count', '4', false);
    RETURN worker.id;
END;
$function$;

-- _release_embeddings: release the chunks that a worker claimed and did not do; returns how many.
-- Those that are being deleted stay its own: it claims them again where they are there after all.
CREATE OR REPLACE FUNCTION pgblend._release_embeddings(worker integer)
RETURNS bigint
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    WITH released AS (
        UPDATE pgblend_data.embedding_queue AS q
        SET worker = NULL
        FROM (
            SELECT
                o.space,
                o.chunk_id,
                o.collection_id
            FROM pgblend_data.embedding_queue AS o
            WHERE o.worker = _release_embeddings.worker
            FOR UPDATE SKIP LOCKED
        ) AS f
        WHERE (q.space, q.chunk_id, q.collection_id) = (f.space, f.chunk_id, f.collection_id)
        RETURNING q.chunk_id
    )

    SELECT count(*) FROM released;
END;

-- _stop_worker: release what this session's worker claimed, and free its session for another one.
CREATE OR REPLACE FUNCTION pgblend._stop_worker(worker integer)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT pgblend._release_embeddings(worker);
    SELECT pg_advisory_unlock(w.life_lock)
    FROM pgblend_data.embedding_worker AS w
    WHERE w.id = _stop_worker.worker;
END;
