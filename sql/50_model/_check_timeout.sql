-- _check_timeout: raise unless a time limit is at least 1 ms; NULL is right.
CREATE OR REPLACE FUNCTION pgblend._check_timeout(timeout_ms integer)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    IF timeout_ms < 1 THEN
        RAISE EXCEPTION 'timeout_ms is %: expected at least 1', timeout_ms
            USING ERRCODE = '22023', HINT = 'NULL means the setting timeouts_ms.';
    END IF;
END;
$function$;
