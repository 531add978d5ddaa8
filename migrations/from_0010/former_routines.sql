-- Private routines go out of the way by another name: one that returns another type under the same
-- arguments cannot be replaced. Those on which a trigger, a constraint or a view rests stay.

DO $do$
DECLARE
    former record;
BEGIN
    FOR former IN
        SELECT p.oid::regprocedure AS routine, p.proname
        FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = 'pgblend'::regnamespace AND starts_with(p.proname, '_')
            AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_depend AS d
                WHERE d.refclassid = 'pg_catalog.pg_proc'::regclass AND d.refobjid = p.oid
                    AND d.classid <> 'pg_catalog.pg_proc'::regclass)
    LOOP
        EXECUTE format('ALTER ROUTINE %s RENAME TO %I', former.routine, '_former' || former.proname);
    END LOOP;
END
$do$;
