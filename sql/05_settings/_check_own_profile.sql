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
