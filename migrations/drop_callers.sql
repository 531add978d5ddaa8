-- Triggers that call routines of pgblend, also those on users' tables, and the readers of attached
-- tables (_ensure_reader makes one for each).

DO $do$
DECLARE
    old record;
BEGIN
    FOR old IN
        SELECT t.tgname, t.tgrelid::pg_catalog.regclass AS relation
        FROM pg_catalog.pg_trigger AS t
        INNER JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid
        WHERE t.tgparentid = 0 AND NOT t.tgisinternal
            AND p.pronamespace = 'pgblend'::pg_catalog.regnamespace
    LOOP
        EXECUTE pg_catalog.format('DROP TRIGGER %I ON %s', old.tgname, old.relation);
    END LOOP;
    FOR old IN
        SELECT p.oid::pg_catalog.regprocedure AS reader FROM pg_catalog.pg_proc AS p
        WHERE p.prorettype = 'pgblend_data.attached_row'::pg_catalog.regtype
            AND p.pronamespace = 'pgblend_data'::pg_catalog.regnamespace
    LOOP
        EXECUTE pg_catalog.format('DROP FUNCTION %s', old.reader);
    END LOOP;
END
$do$;
