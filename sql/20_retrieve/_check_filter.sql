-- _check_filter: raise unless a filter is NULL or an object of metadata keys and single values.
CREATE OR REPLACE FUNCTION pgblend._check_filter(filter jsonb)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    entry record;
BEGIN
    IF filter IS NULL THEN
        RETURN;
    ELSIF jsonb_typeof(filter) <> 'object' THEN
        RAISE EXCEPTION 'filter is %: expected a JSON object', left(filter::text, 200)
            USING ERRCODE = '22023', HINT = 'For example: {"author": "knuth", "year": 1974}';
    END IF;
    FOR entry IN SELECT e.key, e.value FROM jsonb_each(filter) AS e LOOP
        IF jsonb_typeof(entry.value) NOT IN ('string', 'number', 'boolean') THEN
            RAISE EXCEPTION 'filter: "%" is %: expected a string, a number, true or false',
                left(entry.key, 200), left(entry.value::text, 200)
                USING ERRCODE = '22023',
                HINT = 'A filter names metadata keys and the values they must have.';
        END IF;
    END LOOP;
END;
$function$;

COMMENT ON FUNCTION pgblend._check_filter(jsonb) IS
'Raise 22023 unless a filter is NULL or an object of metadata keys and single values.';
