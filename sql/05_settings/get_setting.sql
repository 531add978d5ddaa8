-- get_setting: the value in force for the whole database, the default where none was set.
-- NULL where it has no default either. An unknown name is an error. Of an object, keys that were
-- not set have their defaults; one with a key "kind" is a whole. A number stands for each key (as
-- in plpy/base/settings.py). Definer-rights functions call it: nothing that others can write to
-- is on its search_path.
CREATE OR REPLACE FUNCTION blend.get_setting(name text)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    known record;
BEGIN
    SELECT c.default_value, nullif(s.value, 'null') AS value INTO known
    FROM blend.setting_catalog() AS c
    LEFT JOIN pgblend._setting_values AS s ON s.name = c.name
    WHERE c.name = get_setting.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no setting "%"', left(name, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.settings';
    END IF;
    IF jsonb_typeof(known.default_value) <> 'object' OR known.default_value ? 'kind' THEN
        RETURN nullif(coalesce(known.value, known.default_value), 'null');
    ELSIF jsonb_typeof(known.value) = 'number' THEN
        RETURN (
            SELECT jsonb_object_agg(k, known.value)
            FROM jsonb_object_keys(known.default_value) AS k);
    END IF;
    RETURN known.default_value || coalesce(known.value, '{}');
END;
$function$;
