-- grant_collection: let a role (and its members) read or write a collection; write includes read.
-- An unknown collection, role or privilege is an error; granting again changes nothing, but where
-- the role of before was dropped or renamed. The role also needs membership in pgblend_reader or
-- pgblend_writer.
CREATE OR REPLACE FUNCTION blend.grant_collection(
    collection text,
    role_name name,
    privilege text DEFAULT 'read'
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._check_grant(grant_collection.role_name, grant_collection.privilege);
    INSERT INTO pgblend_data.collection_grant AS g (collection_id, role_name, role_oid, privilege)
    SELECT
        (pgblend._named_collection(grant_collection.collection)).id, r.rolname, r.oid,
        grant_collection.privilege
    FROM pg_catalog.pg_roles AS r
    WHERE r.rolname = grant_collection.role_name
    ON CONFLICT ON CONSTRAINT collection_grant_pkey DO UPDATE
    SET role_oid = excluded.role_oid, made_in = excluded.made_in,
        granted_by = excluded.granted_by, granted_at = excluded.granted_at
    WHERE (g.role_oid, g.made_in) IS DISTINCT FROM (excluded.role_oid, excluded.made_in);
END;
$function$;
