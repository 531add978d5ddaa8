-- grant_collection: let a role (and its members) read or write a collection; write includes read.
-- An unknown collection, role or privilege is an error; granting again changes nothing. The role
-- also needs membership in pgblend_reader or pgblend_writer.
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
    INSERT INTO pgblend_data.collection_grant (collection_id, role_name, privilege)
    VALUES (
        (pgblend._named_collection(grant_collection.collection)).id,
        grant_collection.role_name, grant_collection.privilege)
    ON CONFLICT ON CONSTRAINT collection_grant_pkey DO NOTHING;
END;
$function$;
