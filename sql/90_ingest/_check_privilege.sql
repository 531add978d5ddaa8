-- _check_privilege: raise unless the privilege is read or write; NULL is neither.
CREATE OR REPLACE FUNCTION pgblend._check_privilege(privilege text)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF privilege IS NULL OR privilege NOT IN ('read', 'write') THEN
        RAISE EXCEPTION 'privilege is %: expected read or write',
            coalesce(quote_literal(left(privilege, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'write includes read.';
    END IF;
END;
$function$;
