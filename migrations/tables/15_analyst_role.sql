-- The role of dashboards: it reads what readers may, and how searches went. Admins may do the same.

DO $do$
BEGIN
    LOCK TABLE pg_catalog.pg_authid IN SHARE ROW EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'pgblend_analyst') THEN
        CREATE ROLE pgblend_analyst NOLOGIN;
    END IF;
    IF NOT pg_has_role('pgblend_analyst', 'pgblend_reader', 'MEMBER') THEN
        GRANT pgblend_reader TO pgblend_analyst;
    END IF;
    IF NOT pg_has_role('pgblend_admin', 'pgblend_analyst', 'MEMBER') THEN
        GRANT pgblend_analyst TO pgblend_admin;
    END IF;
END
$do$;
