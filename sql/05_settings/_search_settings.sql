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
    profile_name text := coalesce(profile, pgblend.get_setting('default_profile') #>> '{}');
    profile_settings jsonb;
    collection_settings jsonb;
    in_force jsonb;
BEGIN
    PERFORM pgblend._check_settings(options, ARRAY['search'], 'options');
    SELECT p.settings INTO profile_settings
    FROM pgblend_data.profile AS p WHERE p.name = profile_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no profile "%"', left(profile_name, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM pgblend.profiles';
    END IF;
    IF cardinality(collection_ids) = 1 THEN
        SELECT c.settings INTO collection_settings
        FROM pgblend_data.collection AS c WHERE c.id = collection_ids[1];
    END IF;
    SELECT jsonb_object_agg(
        c.name,
        CASE WHEN jsonb_typeof(c.default_value) = 'object' AND NOT c.default_value ? 'kind'
            THEN c.default_value || layers.stored || layers.of_profile
                || layers.of_collection || layers.of_call
            ELSE coalesce(
                nullif(layers.of_call, '{}'), nullif(layers.of_collection, '{}'),
                nullif(layers.of_profile, '{}'), nullif(layers.stored, '{}'), c.default_value)
        END)
    INTO in_force
    FROM pgblend.setting_catalog() AS c
    LEFT JOIN pgblend_data.setting AS s ON s.name = c.name
    CROSS JOIN LATERAL (
        SELECT
            coalesce(nullif(s.value, 'null'), '{}') AS stored,
            coalesce(nullif(profile_settings -> c.name, 'null'), '{}') AS of_profile,
            coalesce(nullif(collection_settings -> c.name, 'null'), '{}') AS of_collection,
            coalesce(nullif(options -> c.name, 'null'), '{}') AS of_call
    ) AS layers
    WHERE c.scope = 'search';
    RETURN in_force;
END;
$function$;

COMMENT ON FUNCTION pgblend._search_settings(jsonb, text, bigint[]) IS
'Every search setting in force: call > collection > profile > database > default.';
