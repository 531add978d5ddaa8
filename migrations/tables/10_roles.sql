-- Roles, and what schemas they see into.

DO $do$
DECLARE
    role_name text;
    previous_role text;
BEGIN
    -- Roles belong to the whole server: one migration at a time makes them, whatever its database.
    LOCK TABLE pg_catalog.pg_authid IN SHARE ROW EXCLUSIVE MODE;
    FOREACH role_name IN ARRAY ARRAY['pgblend_reader', 'pgblend_writer', 'pgblend_admin'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = role_name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        END IF;
        -- Each role can do what the one before it can.
        IF NOT pg_has_role(role_name, coalesce(previous_role, role_name), 'MEMBER') THEN
            EXECUTE format('GRANT %I TO %I', previous_role, role_name);
        END IF;
        previous_role := role_name;
    END LOOP;
    -- Its own: it writes logs and nothing else.
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'pgblend_gateway') THEN
        CREATE ROLE pgblend_gateway NOLOGIN;
    END IF;
END
$do$;

-- Everybody sees what is public, so that a role without rights hears which one it lacks.
GRANT USAGE ON SCHEMA blend TO public;
GRANT USAGE ON SCHEMA blend, pgblend, pgblend_data TO pgblend_reader;
GRANT USAGE ON SCHEMA pgblend_data TO pgblend_gateway;
