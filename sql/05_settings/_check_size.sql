-- _check_size: raise unless an argument is within a limit of the setting limits.
-- `unit` says what `size` counts. Up to 100, which is the least that a limit can be, nothing is
-- looked up; NULL is within every limit.
CREATE OR REPLACE FUNCTION pgblend._check_size(
    argument text,
    size bigint,
    unit text,
    limit_name text
)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    most bigint;
BEGIN
    IF size IS NULL OR size <= 100 THEN
        RETURN;
    END IF;
    most := blend.get_setting('limits') ->> limit_name;
    IF size > most THEN
        RAISE EXCEPTION '% has % %: expected at most %', argument, size, unit, most
            USING ERRCODE = '22023', HINT = format(
                'A member of pgblend_admin raises the setting limits: set_setting(''limits'', %L)',
                jsonb_build_object(limit_name, size));
    END IF;
END;
$function$;
