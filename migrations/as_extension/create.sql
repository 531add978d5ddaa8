\echo Use "CREATE EXTENSION pgblend" to load this file. \quit

-- Nothing that another role may have made is called before the path of routines is set.
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
DO $check$
BEGIN
    IF to_regclass('pgblend_data.alembic_version') IS NOT NULL THEN
        RAISE EXCEPTION 'pgblend is in this database already: "pgblend migrate up" made it'
            USING ERRCODE = 'duplicate_object',
            HINT = 'Upgrade it by "pgblend migrate up", or choose another database.';
    END IF;
    IF to_regnamespace('blend') IS NOT NULL THEN
        RAISE EXCEPTION 'the schema "blend" is there and not pgblend''s'
            USING ERRCODE = 'duplicate_schema',
            HINT = 'pgblend needs that name: ALTER SCHEMA blend RENAME TO …, or another database.';
    END IF;
    IF current_setting('server_version_num')::integer / 10000 < #minimum_server THEN
        RAISE EXCEPTION 'the server is PostgreSQL %, pgblend needs #minimum_server or newer',
            current_setting('server_version') USING ERRCODE = 'feature_not_supported';
    END IF;
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'the database''s encoding is %, pgblend needs UTF8',
            current_setting('server_encoding') USING ERRCODE = 'feature_not_supported',
            HINT = 'Make another database: CREATE DATABASE name ENCODING ''UTF8'' TEMPLATE template0';
    END IF;
    IF (SELECT string_to_array(substring(e.extversion FROM '^[0-9]+[.][0-9]+'), '.')::integer[]
        FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector') < '#minimum_vector' THEN
        RAISE EXCEPTION 'the extension vector is too old: pgblend needs #minimum_vector or newer'
            USING ERRCODE = 'feature_not_supported',
            HINT = 'Install a newer pgvector, then: ALTER EXTENSION vector UPDATE';
    END IF;
END
$check$;
-- A parsed body would keep what others made, wherever they move it afterwards.
#planted
SELECT set_config('search_path', (#path), true);

CREATE SCHEMA pgblend_data;
#types
#routines
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
#install
CREATE EVENT TRIGGER pgblend_follow_update ON ddl_command_end
WHEN TAG IN ('ALTER EXTENSION') EXECUTE FUNCTION pgblend._follow_update();
COMMENT ON EVENT TRIGGER pgblend_follow_update IS
'After ALTER EXTENSION pgblend UPDATE: blend.install(), whose objects the extension does not own.';
SELECT pgblend._compile_program();
