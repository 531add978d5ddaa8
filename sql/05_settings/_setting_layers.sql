-- _setting_layers: what is set for the database, by a profile and for the collection searched.
-- A collection's settings count when it is the only one searched; of several, none does. An unknown
-- profile is an error; a NULL profile means default_profile.
CREATE OR REPLACE FUNCTION pgblend._setting_layers(
    profile text,
    collection_ids bigint[],
    OUT of_database jsonb,
    OUT of_profile jsonb,
    OUT of_collection jsonb
)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    profile_name text;
BEGIN
    SELECT d.settings, w.profile_name, p.settings, c.settings
    INTO of_database, profile_name, of_profile, of_collection
    FROM (
        SELECT coalesce(jsonb_object_agg(s.name, s.value), '{}') AS settings
        FROM pgblend._setting_values AS s
    ) AS d
    CROSS JOIN LATERAL (
        SELECT coalesce(
            profile, d.settings ->> 'default_profile',
            pgblend._setting_defaults('server') ->> 'default_profile') AS profile_name
    ) AS w
    LEFT JOIN pgblend_data.profile AS p ON p.name = w.profile_name
    LEFT JOIN pgblend_data.collection AS c
        ON c.id = collection_ids[1] AND cardinality(collection_ids) = 1;
    IF of_profile IS NULL THEN
        RAISE EXCEPTION 'there is no profile "%"', left(profile_name, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.profiles';
    END IF;
END;
$function$;
