-- _search_settings: every search setting in force: call > collection > profile > database >
-- default.
-- A collection's settings count when it is the only one searched; of several, none does. Objects
-- are merged key by key, but for those with a key "kind", which are wholes. Options are checked; an
-- unknown profile is an error; a NULL profile means default_profile.
CREATE OR REPLACE FUNCTION pgblend._search_settings(
    options jsonb,
    profile text,
    collection_ids bigint[]
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    in_force jsonb := pgblend._setting_defaults('search');
    of_database jsonb := (SELECT jsonb_object_agg(s.name, s.value) FROM pgblend_data.setting AS s);
    profile_name text := coalesce(
        profile, of_database ->> 'default_profile',
        pgblend._setting_defaults('server') ->> 'default_profile');
    of_profile jsonb;
    of_collection jsonb;
BEGIN
    PERFORM pgblend._check_settings(options, ARRAY['search'], 'options');
    SELECT p.settings, c.settings INTO of_profile, of_collection
    FROM pgblend_data.profile AS p
    LEFT JOIN pgblend_data.collection AS c
        ON c.id = collection_ids[1] AND cardinality(collection_ids) = 1
    WHERE p.name = profile_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no profile "%"', left(profile_name, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM pgblend.profiles';
    END IF;
    in_force := pgblend._merge_settings(in_force, of_database);
    in_force := pgblend._merge_settings(in_force, of_profile);
    in_force := pgblend._merge_settings(in_force, of_collection);
    RETURN pgblend._merge_settings(in_force, options);
END;
$function$;

COMMENT ON FUNCTION pgblend._search_settings(jsonb, text, bigint[]) IS
'Every search setting in force: call > collection > profile > database > default.';
