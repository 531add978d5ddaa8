-- _search_filter: the filter that a search applies: the caller's, checked, with the settings since
-- and until.
-- Those are conditions on the filter field $date, both ends included. NULL where there is nothing
-- to apply.
CREATE OR REPLACE FUNCTION pgblend._search_filter(filter jsonb, settings jsonb)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
DECLARE
    dates jsonb := jsonb_strip_nulls(
        jsonb_build_object('gte', settings -> 'since', 'lte', settings -> 'until'));
    compiled record;
BEGIN
    IF filter IS NOT NULL THEN
        PERFORM pgblend._check_size(
            'filter', octet_length(filter::text), 'bytes', 'filter_bytes');
        SELECT f.problem, f.hint INTO compiled FROM pgblend._filter_condition(filter, 1) AS f;
        IF compiled.problem IS NOT NULL THEN
            RAISE EXCEPTION '%', compiled.problem
                USING ERRCODE = '22023', HINT = compiled.hint;
        END IF;
    END IF;
    IF dates = '{}' THEN
        RETURN filter;
    END IF;
    RETURN jsonb_build_object('and', jsonb_build_array(
        jsonb_build_object('$date', dates), coalesce(filter, '{}')));
END;
$function$;
