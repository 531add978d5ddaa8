-- _check_grant: raise unless the privilege is read or write, and there is a role of that name.
-- NULLs are neither.
CREATE OR REPLACE FUNCTION pgblend._check_grant(role_name name, privilege text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    IF privilege IS NULL OR privilege NOT IN ('read', 'write') THEN
        RAISE EXCEPTION 'privilege is %: expected read or write',
            coalesce(quote_literal(left(privilege, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'write includes read.';
    ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = role_name) THEN
        RAISE EXCEPTION 'there is no role %', coalesce(quote_ident(role_name), 'NULL')
            USING ERRCODE = '42704', HINT = 'SELECT rolname FROM pg_roles';
    END IF;
END;
$function$;
