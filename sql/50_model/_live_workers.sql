-- _live_workers: the embedding workers whose sessions live: those that hold their advisory lock.
-- A session that ends in any way, kill -9 and a pulled plug included, loses its locks.
CREATE OR REPLACE FUNCTION pgblend._live_workers()
RETURNS integer[]
LANGUAGE sql
VOLATILE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(array_agg(l.objid::bigint::integer ORDER BY l.objid::bigint), '{}')
    FROM pg_catalog.pg_locks AS l
    INNER JOIN pg_catalog.pg_database AS d ON l.database = d.oid
    WHERE d.datname = current_database()
        AND l.locktype = 'advisory'
        AND l.classid::bigint::integer = pgblend._worker_lock()
        AND l.objid <> 0
        AND l.objsubid = 2
        AND l.granted;
END;

COMMENT ON FUNCTION pgblend._live_workers() IS
'The embedding workers whose sessions live: those that hold their advisory lock.';
