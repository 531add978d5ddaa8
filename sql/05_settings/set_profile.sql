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
