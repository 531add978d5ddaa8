-- _may_read_rows: whether a role may read a table, and row security hides no row of it from the
-- role. NULL where the table is gone.
CREATE OR REPLACE FUNCTION pgblend._may_read_rows(who name, relation oid)
RETURNS boolean
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT has_table_privilege(who, c.oid, 'SELECT') AND (
        NOT c.relrowsecurity OR r.rolsuper OR r.rolbypassrls
        OR NOT c.relforcerowsecurity AND pg_has_role(who, c.relowner, 'USAGE'))
    FROM pg_catalog.pg_class AS c
    INNER JOIN pg_catalog.pg_roles AS r ON r.rolname = who
    WHERE c.oid = relation;
END;
