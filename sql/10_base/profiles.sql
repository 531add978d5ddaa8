-- set_profile: make a profile or replace its settings; it holds from the next search on.
-- A NULL description leaves the one there is (none for a new profile); NULL settings are none.
-- Names that are no names, built-in profiles, unknown settings and wrong values are errors. Members
-- of pgblend_admin may.
CREATE OR REPLACE FUNCTION blend.set_profile(
    name text,
    description text DEFAULT NULL,
    settings jsonb DEFAULT '{}'
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM pgblend._check_own_profile(name);
    PERFORM pgblend._check_settings(settings, ARRAY['search'], format('profile "%s"', name));
    INSERT INTO pgblend_data.profile AS p (name, description, settings)
    VALUES (name, coalesce(description, ''), coalesce(nullif(settings, 'null'), '{}'))
    ON CONFLICT ON CONSTRAINT profile_pkey DO UPDATE
    SET description = coalesce(set_profile.description, p.description),
        settings = excluded.settings, changed_by = DEFAULT, changed_at = DEFAULT;
END;
$function$;

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

-- _check_own_profile: raise unless a profile of that name may be made, changed or dropped.
CREATE OR REPLACE FUNCTION pgblend._check_own_profile(name text)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    IF coalesce(name, '') !~ '^[a-z][a-z0-9_]{0,62}$' THEN
        RAISE EXCEPTION 'profile name is %: expected a letter a-z, then letters, digits or _, at '
            'most 63', coalesce(quote_literal(left(name, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: handbook';
    ELSIF EXISTS (
        SELECT FROM pgblend_data.experiment AS e
        WHERE e.stopped_at IS NULL AND name IN (e.profile, e.rival)
    ) THEN
        RAISE EXCEPTION 'profile "%" is in an experiment, and stays as it is until that ends', name
            USING ERRCODE = '55006', HINT = 'SELECT * FROM blend.experiments; stop_experiment(…)';
    ELSIF EXISTS (
        SELECT FROM pgblend_data.profile AS p
        WHERE p.name = _check_own_profile.name AND p.built_in
    ) THEN
        RAISE EXCEPTION 'profile "%" comes with pgblend and stays as it is', name
            USING ERRCODE = '22023', HINT = 'Make one under another name; set_setting('
            '''default_profile'', …) makes it the default.';
    END IF;
END;
$function$;
