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
