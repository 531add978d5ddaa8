-- What is left of pgblend once its routines and tables are gone, but for the table of alembic.
-- Nothing is dropped with CASCADE: what users built on it stops this, and is named.

-- Languages of tables/, and what create_unaccent_config and create_hunspell_config made.
DO $do$
DECLARE
    configuration name;
BEGIN
    FOR configuration IN
        SELECT t.cfgname FROM pg_catalog.pg_ts_config AS t
        WHERE t.cfgnamespace = 'pgblend'::regnamespace
            AND (t.cfgname LIKE '%\_unaccent'
                OR t.cfgname IN ('ja', 'km', 'ko', 'lo', 'my', 'th', 'zh')
                OR EXISTS (
                    SELECT FROM pg_catalog.pg_ts_dict AS d
                    WHERE d.dictnamespace = t.cfgnamespace
                        AND d.dictname = t.cfgname || '_hunspell'))
    LOOP
        EXECUTE format('DROP TEXT SEARCH CONFIGURATION pgblend.%I', configuration);
    END LOOP;
    FOR configuration IN
        SELECT d.dictname FROM pg_catalog.pg_ts_dict AS d
        WHERE d.dictnamespace = 'pgblend'::regnamespace AND d.dictname LIKE '%\_hunspell'
    LOOP
        EXECUTE format('DROP TEXT SEARCH DICTIONARY pgblend.%I', configuration);
    END LOOP;
END
$do$;
DROP TYPE pgblend_data.attached_row, pgblend_data.given_chunk, blend.search_result;
DROP SCHEMA blend, pgblend;

-- Roles belong to the whole server: they stay where another database uses them, or an owner may not.
DROP OWNED BY
pgblend_reader, pgblend_analyst, pgblend_writer, pgblend_admin, pgblend_gateway, pgblend_serve;
DO $do$
BEGIN
    DROP ROLE
        pgblend_admin, pgblend_writer, pgblend_analyst, pgblend_reader, pgblend_gateway,
        pgblend_serve;
EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege THEN
    RAISE NOTICE
        'the roles pgblend_reader, _analyst, _writer, _admin, _gateway and _serve stay: %',
        SQLERRM;
END
$do$;
