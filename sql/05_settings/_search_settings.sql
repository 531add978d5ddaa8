-- _search_settings: every search setting in force for a call (_setting_layers, _merge_layers).
CREATE OR REPLACE FUNCTION pgblend._search_settings(
    options jsonb,
    profile text,
    collection_ids bigint[]
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    layers record := pgblend._setting_layers(profile, collection_ids);
BEGIN
    RETURN pgblend._merge_layers(
        options, layers.of_database, layers.of_profile, layers.of_collection);
END;
$function$;
