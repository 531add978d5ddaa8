-- _is_building: whether another session writes a collection's segments just now.
-- Its rows are not visible before its commit, its lock is.
CREATE OR REPLACE FUNCTION pgblend._is_building(collection_id bigint)
RETURNS boolean
LANGUAGE sql
VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT EXISTS(
        SELECT
        FROM pg_catalog.pg_locks AS l
        WHERE
            l.locktype = 'advisory'
            AND l.database = (
                SELECT d.oid FROM pg_catalog.pg_database AS d
                WHERE d.datname = current_database()
            )
            AND l.classid::bigint = (pgblend._seal_lock(collection_id) >> 32) & 4294967295
            AND l.objid::bigint = pgblend._seal_lock(collection_id) & 4294967295
            AND l.objsubid = 1
            AND l.granted
            AND l.pid <> pg_backend_pid()
    );
END;

COMMENT ON FUNCTION pgblend._is_building(bigint) IS
'Whether another session writes a collection''s segments just now.';
