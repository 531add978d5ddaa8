-- _merge_layers: every search setting in force: call > collection > profile > database > default.
-- Layers are what _setting_layers gives, options those of the call, which are checked. Objects are
-- merged key by key, but for those with a key "kind", which are wholes. The mode agent has defaults
-- of its own: 500 characters around each passage.
CREATE OR REPLACE FUNCTION pgblend._merge_layers(
    options jsonb,
    of_database jsonb,
    of_profile jsonb,
    of_collection jsonb
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    of_agent CONSTANT jsonb := '{"context_chars": {"before": 500, "after": 500}}';
    in_force jsonb := pgblend._setting_defaults('search');
    mode text := coalesce(
        options ->> 'mode', of_collection ->> 'mode', of_profile ->> 'mode', of_database ->> 'mode');
    layer jsonb;
BEGIN
    PERFORM pgblend._check_size(
        'options', octet_length(options::text), 'bytes', 'options_bytes');
    PERFORM pgblend._check_settings(options, ARRAY['search'], 'options');
    IF mode = 'agent' THEN
        in_force := pgblend._merge_settings(in_force, of_agent);
    END IF;
    FOREACH layer IN ARRAY ARRAY[of_database, of_profile, of_collection, options] LOOP
        in_force := pgblend._merge_settings(in_force, layer);
    END LOOP;
    RETURN in_force;
END;
$function$;
