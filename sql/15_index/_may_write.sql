-- _may_write: whether the caller may write to a collection, as its row security has it.
CREATE OR REPLACE FUNCTION pgblend._may_write(collection_id bigint)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT
        pg_has_role('pgblend_admin', 'USAGE')
        OR EXISTS (
            SELECT FROM pgblend_data.collection_grant AS g
            WHERE g.collection_id = _may_write.collection_id AND g.privilege = 'write'
        );
END;
