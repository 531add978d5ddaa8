-- _setting_sources: where each search setting in force comes from: call, collection, profile,
-- database or default.
-- Of an object, whose keys are merged, the nearest that gave any key. As in _search_settings, which
-- checks what is given, a collection's settings count when it is the only one.
CREATE OR REPLACE FUNCTION pgblend._setting_sources(
    options jsonb,
    profile text,
    collection_ids bigint[]
)
RETURNS TABLE (name text, source text)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 30
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    layers record := pgblend._setting_layers(profile, collection_ids);
BEGIN
    RETURN QUERY
    SELECT
        c.name,
        CASE
            WHEN coalesce(options -> c.name, 'null') <> 'null' THEN 'call'
            WHEN coalesce(layers.of_collection -> c.name, 'null') <> 'null' THEN 'collection'
            WHEN coalesce(layers.of_profile -> c.name, 'null') <> 'null' THEN 'profile'
            WHEN coalesce(layers.of_database -> c.name, 'null') <> 'null' THEN 'database'
            ELSE 'default'
        END
    FROM blend.setting_catalog() AS c
    WHERE c.scope = 'search';
END;
$function$;
