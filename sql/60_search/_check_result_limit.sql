-- _check_result_limit: raise unless a limit is from 0 to 10000.
CREATE OR REPLACE FUNCTION pgblend._check_result_limit(result_limit integer)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $function$
BEGIN
    IF result_limit IS NULL OR result_limit NOT BETWEEN 0 AND 10000 THEN
        RAISE EXCEPTION 'result_limit is %: expected a whole number from 0 to 10000',
            coalesce(result_limit::text, 'NULL')
            USING ERRCODE = '22023', HINT = '10 is the default.';
    END IF;
END;
$function$;
