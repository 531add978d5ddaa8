-- reset_setting: put the default of a setting back.
-- An unknown name is an error; a setting that is at its default stays there.
CREATE OR REPLACE FUNCTION blend.reset_setting(name text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM blend.set_setting(name, NULL);
END;
$function$;
