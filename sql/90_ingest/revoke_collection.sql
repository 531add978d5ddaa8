-- revoke_collection: take a grant on a collection back; revoking read takes write as well.
-- An unknown collection, role or privilege is an error; returns whether there was a grant.
CREATE OR REPLACE FUNCTION blend.revoke_collection(
    collection text,
    role_name name,
    privilege text DEFAULT 'read'
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
BEGIN
    PERFORM pgblend._check_privilege(revoke_collection.privilege);
    DELETE FROM pgblend_data.collection_grant AS g
    WHERE g.collection_id = (pgblend._named_collection(revoke_collection.collection)).id
        AND g.role_name = revoke_collection.role_name
        AND (revoke_collection.privilege = 'read' OR g.privilege = 'write');
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM pgblend._check_role(revoke_collection.role_name);
    RETURN false;
END;
$function$;
