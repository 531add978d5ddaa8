-- _check_role: raise unless there is a role of that name; NULL names none.
CREATE OR REPLACE FUNCTION pgblend._check_role(role_name name)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = role_name) THEN
        RAISE EXCEPTION 'there is no role %', coalesce(quote_ident(role_name), 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT rolname FROM pg_roles';
    END IF;
END;
$function$;
