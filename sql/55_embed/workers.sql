-- count_vectors: how far an embedding space (NULL: each) is filled, and its size.
-- It counts what the caller may read; bytes are of all collections, and NULL but for admins. dead
-- chunks were given up. missing ones neither have a vector nor wait for one; queue_missing_vectors
-- queues them. Where callers or the rows of an attached table bring the vectors, none is missing.
-- An unknown space gives no row.
CREATE OR REPLACE FUNCTION blend.count_vectors(space text DEFAULT NULL)
RETURNS TABLE (
    name text,
    chunks bigint,
    vectors bigint,
    waiting bigint,
    dead bigint,
    missing bigint,
    table_bytes bigint,
    index_bytes bigint
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 2
AS $function$
DECLARE
    counted record;
BEGIN
    FOR counted IN
        SELECT s.name, s.table_name, s AS space FROM pgblend_data.embedding_space AS s
        WHERE s.name = coalesce(space, s.name)
        ORDER BY s.name
    LOOP
        name := counted.name;
        -- Calls in text: _first_embedded (a space's table).
        EXECUTE format(
            'SELECT count(*), count(e.chunk_id),
                count(*) FILTER (WHERE c.chunk_index >= w.first_index AND e.chunk_id IS NULL
                    AND NOT EXISTS (
                    SELECT FROM pgblend_data.embedding_queue AS q
                    WHERE q.space = $1 AND q.chunk_id = c.id))
            FROM pgblend_data.chunk AS c
            INNER JOIN (
                SELECT o.id, pgblend._first_embedded($2, o.id) AS first_index
                FROM pgblend_data.collection AS o OFFSET 0
            ) AS w ON w.id = c.collection_id
            LEFT JOIN pgblend_data.%I AS e ON e.chunk_id = c.id', counted.table_name)
        INTO chunks, vectors, missing USING counted.name, counted.space;
        SELECT count(*) FILTER (WHERE q.dead_at IS NULL), count(q.dead_at) INTO waiting, dead
        FROM pgblend_data.embedding_queue AS q WHERE q.space = counted.name;
        IF pg_has_role('pgblend_admin', 'USAGE') THEN
            table_bytes := pg_table_size(format('pgblend_data.%I', counted.table_name)::regclass);
            index_bytes := pg_indexes_size(format('pgblend_data.%I', counted.table_name)::regclass);
        END IF;
        RETURN NEXT;
    END LOOP;
END;
$function$;

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

-- _stop_worker: release what this session's worker claimed, and free its session for another one.
-- Through a door a statement runs twice, and what it does to a session's locks stays.
CREATE OR REPLACE FUNCTION pgblend._stop_worker(worker integer)
RETURNS void
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT pgblend._release_embeddings(worker);
    SELECT pg_advisory_unlock(w.life_lock)
    FROM pgblend_data.embedding_worker AS w
    WHERE w.id = _stop_worker.worker
        AND w.id = ANY((SELECT pgblend._live_workers())::integer[]);
END;

-- _live_workers: the embedding workers whose sessions live: those that hold the lock of their row.
-- A session that ends in any way, kill -9 and a pulled plug included, loses its locks. Whoever else
-- holds a lock of that key has another process id.
CREATE OR REPLACE FUNCTION pgblend._live_workers()
RETURNS integer[]
LANGUAGE sql
VOLATILE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(array_agg(w.id ORDER BY w.id), '{}')
    FROM pgblend_data.embedding_worker AS w
    INNER JOIN pg_catalog.pg_locks AS l
        ON w.backend = l.pid
            AND w.life_lock = (l.classid::bigint << 32 | l.objid::bigint)
    WHERE l.locktype = 'advisory'
        AND l.objsubid = 1
        AND l.granted;
END;

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
