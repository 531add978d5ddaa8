-- get_setting: the value in force for the whole database, the default where none was set.
-- An unknown name is an error. Of an object, keys that were not set have their defaults.
-- Definer-rights functions call it: nothing that others can write to is on its search_path. NULL
-- where it has no default either.
CREATE OR REPLACE FUNCTION blend.get_setting(name text)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
#variable_conflict use_column
DECLARE
    found_value jsonb;
BEGIN
    SELECT pgblend._setting_in_force(c.default_value, s.value) INTO found_value
    FROM blend.setting_catalog() AS c
    LEFT JOIN pgblend._setting_values AS s ON s.name = c.name
    WHERE c.name = get_setting.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no setting "%"', left(get_setting.name, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.settings';
    END IF;
    RETURN nullif(found_value, 'null');
END;
$function$;
