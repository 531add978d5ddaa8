-- _check_filter: raise unless a filter is NULL or of the filter language, which the comment below
-- spells out.
CREATE OR REPLACE FUNCTION pgblend._check_filter(filter jsonb)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    problem text;
    problem_hint text;
BEGIN
    PERFORM pgblend._check_size(
        'filter', octet_length(filter::text), 'bytes', 'filter_bytes');
    SELECT f.problem, f.hint INTO problem, problem_hint
    FROM pgblend._filter_condition(filter, 1) AS f;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION '%', problem USING ERRCODE = '22023', HINT = problem_hint;
    END IF;
END;
$function$;
