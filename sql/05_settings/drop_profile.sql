-- drop_profile: delete a profile; false where there is none of that name.
-- A built-in profile and the one in force by default are errors. Members of pgblend_admin may.
CREATE OR REPLACE FUNCTION blend.drop_profile(name text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._check_own_profile(name);
    IF blend.get_setting('default_profile') = to_jsonb(name) THEN
        RAISE EXCEPTION 'profile "%" is the default_profile', name
            USING ERRCODE = '22023', HINT = 'SELECT blend.reset_setting(''default_profile'')';
    END IF;
    DELETE FROM pgblend_data.profile AS p WHERE p.name = drop_profile.name;
    RETURN FOUND;
END;
$function$;
