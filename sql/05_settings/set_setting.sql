-- set_setting: set a value for the whole database; it holds from the next search on.
-- A SQL NULL or JSON null puts the default back. Unknown names and wrong values are errors. Members
-- of pgblend_admin may.
CREATE OR REPLACE FUNCTION blend.set_setting(name text, value jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    IF name IS NULL THEN
        RAISE EXCEPTION 'the setting''s name is NULL'
            USING ERRCODE = '22004', HINT = 'SELECT name FROM blend.settings';
    END IF;
    PERFORM blend.set_settings(jsonb_build_object(name, coalesce(value, 'null')));
END;
$function$;
