-- revoke_collection: take a grant on a collection back; returns whether there was one.
-- Revoking read takes write as well. An unknown collection, role or privilege is an error.
CREATE OR REPLACE FUNCTION blend.revoke_collection(
    collection text,
    role_name name,
    privilege text DEFAULT 'read'
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    DELETE FROM pgblend_data.collection_grant AS g
    WHERE g.collection_id = (pgblend._named_collection(revoke_collection.collection)).id
        AND g.role_name = revoke_collection.role_name
        AND g.privilege = ANY(CASE revoke_collection.privilege
            WHEN 'read' THEN '{read,write}'::text[] WHEN 'write' THEN '{write}' END);
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM pgblend._check_grant(revoke_collection.role_name, revoke_collection.privilege);
    RETURN false;
END;
$function$;
