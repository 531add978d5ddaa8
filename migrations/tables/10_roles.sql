-- Roles, and what schemas they see into.

DO $do$
DECLARE
    is_superuser boolean := (
        SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = CURRENT_USER);
    role_name text;
    less text;
BEGIN
    -- Roles belong to the whole server: one migration at a time makes them, whatever its database.
    IF is_superuser THEN
        LOCK TABLE pg_catalog.pg_authid IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    -- The gateway writes logs and nothing else; pgblend_serve is the HTTP door's.
    FOREACH role_name IN ARRAY ARRAY['pgblend_reader', 'pgblend_analyst', 'pgblend_writer',
        'pgblend_admin', 'pgblend_gateway', 'pgblend_serve']
    LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = role_name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        END IF;
        -- An owner who is no superuser asks its own routines with the rights of a role.
        IF NOT pg_has_role(role_name, 'USAGE') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER', role_name);
        END IF;
    END LOOP;
    -- An analyst, of dashboards, reads what readers may, and how searches went.
    FOR less, role_name IN VALUES
        ('pgblend_reader', 'pgblend_analyst'), ('pgblend_reader', 'pgblend_writer'),
        ('pgblend_writer', 'pgblend_admin'), ('pgblend_analyst', 'pgblend_admin')
    LOOP
        IF NOT pg_has_role(role_name, less, 'MEMBER') THEN
            EXECUTE format('GRANT %I TO %I', less, role_name);
        END IF;
    END LOOP;
END
$do$;

-- Everybody sees what is public, so that a role without rights hears which one it lacks.
GRANT USAGE ON SCHEMA blend TO public;
GRANT USAGE ON SCHEMA blend, pgblend, pgblend_data TO pgblend_reader;
GRANT USAGE ON SCHEMA pgblend_data TO pgblend_gateway, pgblend_serve;
