-- What the extension does not own: tables, what binds to them, roles, rights on all.
CREATE OR REPLACE FUNCTION pgblend._made(names text[], is_owned boolean)
RETURNS TABLE (kind text, identity text, place text)
LANGUAGE sql
STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
WITH made AS (
    SELECT 'ROUTINE' AS kind, p.oid, p.oid::regprocedure::text AS identity, p.ctid::text AS place,
        'pg_proc'::regclass AS class
    FROM pg_catalog.pg_proc AS p
    WHERE p.pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)
        AND p.proname = ANY(names)
    UNION ALL
    SELECT 'VIEW', c.oid, c.oid::regclass::text, c.ctid::text, 'pg_class'::regclass
    FROM pg_catalog.pg_class AS c
    WHERE c.relnamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)
        AND c.relkind = 'v' AND c.relname = ANY(names)
)
SELECT m.kind, m.identity, m.place
FROM made AS m
WHERE is_owned = EXISTS (
    SELECT FROM pg_catalog.pg_depend AS d
    WHERE d.classid = m.class AND d.objid = m.oid AND d.deptype = 'e')
$function$;
COMMENT ON FUNCTION pgblend._made IS
'Routines and views of these names, that the extension owns or not, and where their rows stand.';

CREATE OR REPLACE FUNCTION blend.install()
RETURNS text
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $install$
DECLARE
    former CONSTANT text[] := #former;
    narrow CONSTANT text := current_setting('search_path');
    path CONSTANT text := (#path);
    found text;
    before text[];
    stale record;
BEGIN
    IF NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = CURRENT_USER) THEN
        RAISE EXCEPTION 'blend.install() makes PL/Python routines, which % may not', CURRENT_USER
            USING ERRCODE = 'insufficient_privilege', HINT = 'Call it as a superuser.';
    END IF;
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('pgblend migrate', 0));
    EXECUTE $guard$#planted$guard$;
    IF to_regclass('pgblend_data.alembic_version') IS NULL THEN
        CREATE TABLE pgblend_data.alembic_version (
            version_num character varying(32) NOT NULL,
            CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
        PERFORM set_config('search_path', path, true);
        EXECUTE $tables$#tables$tables$;
        PERFORM set_config('search_path', narrow, true);
    ELSE
        SELECT v.version_num INTO found FROM pgblend_data.alembic_version AS v;
        IF found <> '#revision' THEN
            RAISE EXCEPTION 'the tables are of revision %, the extension''s are of #revision', found
                USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = 'Restore a dump into its own version: CREATE EXTENSION pgblend VERSION … '
                    'before it, ALTER EXTENSION pgblend UPDATE after it.';
        END IF;
    END IF;
    before := ARRAY(SELECT m::text FROM pgblend._made(former, false) AS m);
    PERFORM set_config('search_path', path, true);
    EXECUTE $bound$#bound$bound$;
    PERFORM set_config('search_path', narrow, true);
    IF found IS NULL THEN
        EXECUTE $late$#constraint_triggers$late$;
        INSERT INTO pgblend_data.alembic_version VALUES ('#revision');
        COMMENT ON COLUMN pgblend_data.alembic_version.version_num IS '#signature';
    END IF;
    -- All of a kind in one statement, since bodies call each other; never CASCADE.
    FOR stale IN
        SELECT m.kind, string_agg(m.identity, ', ') AS identities
        FROM pgblend._made(former, false) AS m
        WHERE m::text = ANY(before)
        GROUP BY m.kind ORDER BY m.kind DESC
    LOOP
        EXECUTE format('DROP %s %s', stale.kind, stale.identities);
    END LOOP;
    EXECUTE $rest$#rest$rest$;
    EXECUTE format('COMMENT ON TABLE pgblend_data.alembic_version IS %L', '#comment ' || (
        SELECT encode(sha256(convert_to(coalesce(string_agg(
            concat_ws(' ', p.proname, p.prosrc), chr(10) ORDER BY p.proname, p.prosrc), ''),
            'UTF8')), 'hex')
        FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)
            AND p.proname = ANY(#routine_names) AND p.proname <> '_program_code'));
    -- After a pg_upgrade the server may have another Python.
    IF NOT pgblend._load_program() THEN
        PERFORM pgblend._compile_program();
    END IF;
    RETURN format('pgblend #version is installed; to call it without "blend.": ALTER DATABASE %I '
        'SET search_path = "$user", public, blend', current_database());
END;
$install$;
COMMENT ON FUNCTION blend.install IS
'Make the tables of the extension and what binds to them; again mends what is gone or changed.';

CREATE OR REPLACE FUNCTION pgblend._follow_update()
RETURNS event_trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    -- Within a script all that is made would be the extension's. Nothing of ours is looked up
    -- for other extensions, which roles change that may not look into our schemas.
    IF EXISTS (
        SELECT FROM pg_catalog.pg_event_trigger_ddl_commands() AS c
        WHERE c.classid = 'pg_extension'::regclass AND c.object_identity = 'pgblend'
            AND NOT c.in_extension)
    THEN
        IF to_regclass('pgblend_data.alembic_version') IS NOT NULL THEN
            PERFORM blend.install();
        END IF;
    END IF;
END;
$function$;
COMMENT ON FUNCTION pgblend._follow_update IS 'Body of the event trigger pgblend_follow_update.';
