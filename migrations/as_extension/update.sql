\echo Use "ALTER EXTENSION pgblend UPDATE" to load this file. \quit

-- Nothing that another role may have made is called but where the path of routines is set.
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
#planted
DO $check$
BEGIN
    IF to_regclass('pgblend_data.alembic_version') IS NULL THEN
        RAISE EXCEPTION 'this database has the extension pgblend, and no tables of it'
            USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'There is nothing to lose: DROP EXTENSION pgblend; CREATE EXTENSION pgblend.';
    END IF;
    IF NOT EXISTS (
        SELECT FROM pgblend_data.alembic_version AS v WHERE v.version_num = '#from_revision')
    THEN
        RAISE EXCEPTION 'the tables are of revision %, version #from_version makes those of '
            '#from_revision', (SELECT v.version_num FROM pgblend_data.alembic_version AS v)
            USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'SELECT blend.install() says what to do.';
    END IF;
END
$check$;
SELECT set_config('search_path', (#path), true);
#types
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
-- What is made in a script is the extension's: tables are not.
DO $tables$
DECLARE
    before CONSTANT oid[] := ARRAY(
        SELECT d.objid FROM pg_catalog.pg_depend AS d
        WHERE d.deptype = 'e' AND d.refobjid = (
            SELECT e.oid FROM pg_catalog.pg_extension AS e WHERE e.extname = 'pgblend'));
    made record;
BEGIN
    PERFORM set_config('search_path', (#path), true);
    EXECUTE $revisions$#tables$revisions$;
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    UPDATE pgblend_data.alembic_version SET version_num = '#revision';
    COMMENT ON COLUMN pgblend_data.alembic_version.version_num IS '#signature';
    FOR made IN
        SELECT d.classid, d.objid, o.type, o.identity
        FROM pg_catalog.pg_depend AS d
        CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.classid, d.objid, 0) AS o
        LEFT JOIN pg_catalog.pg_type AS t
            ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
        WHERE d.deptype = 'e' AND d.objid <> ALL(before) AND d.refobjid = (
            SELECT e.oid FROM pg_catalog.pg_extension AS e WHERE e.extname = 'pgblend')
        ORDER BY t.oid IS NOT NULL, t.typcategory = 'A'
    LOOP
        -- From PostgreSQL 17 on types of rows and arrays go with what they are of.
        CONTINUE WHEN NOT EXISTS (
            SELECT FROM pg_catalog.pg_depend AS d
            WHERE d.deptype = 'e' AND d.classid = made.classid AND d.objid = made.objid);
        EXECUTE format('ALTER EXTENSION pgblend DROP %s %s', made.type, made.identity);
    END LOOP;
END
$tables$;
#install
-- A routine that was bound to tables and is no more becomes the extension's, with the rights of a
-- new one: rights that it joins with would be in no dump.
DO $adopt$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT m.identity FROM pgblend._made(#own, false) AS m WHERE m.kind = 'ROUTINE'
    LOOP
        EXECUTE format(
            'REVOKE ALL ON ROUTINE %1$s FROM pgblend_reader, pgblend_analyst, pgblend_writer, '
            'pgblend_admin; GRANT EXECUTE ON ROUTINE %1$s TO public; '
            'ALTER EXTENSION pgblend ADD ROUTINE %1$s', one.identity);
    END LOOP;
END
$adopt$;
SELECT set_config('pgblend.before', ARRAY(
    SELECT m::text FROM pgblend._made(#former, true) AS m)::text, true);
SELECT set_config('search_path', (#path), true);
#routines
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
-- What was not made anew is let go; blend.install(), which follows, replaces or drops it.
DO $release$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT m.kind, m.identity FROM pgblend._made(#former, true) AS m
        WHERE m::text = ANY(current_setting('pgblend.before')::text[])
    LOOP
        EXECUTE format('ALTER EXTENSION pgblend DROP %s %s', one.kind, one.identity);
    END LOOP;
END
$release$;
SELECT pgblend._compile_program();
